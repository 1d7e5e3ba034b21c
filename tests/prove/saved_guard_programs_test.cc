// Random programs that put predicates by, beside an interpreter of them: none that is proven may
// take an address from memory, whatever it loads.
#include <absl/strings/str_cat.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/prove/sass_rows.h"
#include "tools/prove/code.h"

namespace vramspan::prove {
namespace saved_guard_programs_test {
namespace {

// Of a thread: P0 and P1, R10 and R11, what R4 was loaded with, and whether R9 was, too.
struct Thread {
  bool predicates[2] = {};
  uint32_t saved[2] = {7, 7};
  uint32_t loaded = 0;
  bool from_memory = true;
};

struct Step {
  std::string text;
  std::function<void(Thread&)> does;
  int guard = -1;  // The number of its predicate, if it has one.
  bool negated = false;
  int to = -1;        // Where it branches to.
  bool uses = false;  // The address.

  bool Runs(const Thread& thread) const { return guard < 0 || thread.predicates[guard] != negated; }
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  // A predicate is put by, another one now, and asked for. Between these, anything.
  std::vector<Step> Make() {
    const unsigned from = Any(2), to = Any(2), in = Any(2), bit = Any(2);
    const bool negated = Any(2) != 0, whole = Any(2) != 0;
    const auto save = [&] {
      if (whole) return Add(Save(in, from));
      Add(Clear(in, bit), Any(3) == 0);
      Fill();
      Add(Guarded(SetBit(in, bit), from, false));
    };
    const bool early = Any(2) != 0;
    if (early) save();
    Fill();
    Add(Guarded(Write(false), from, negated));
    Fill();
    if (!early) save();
    Fill();
    Add(Compare(from, Any(4)));
    Fill();
    Add(whole ? Ask(to, in) : AskBit(to, in, bit));
    Fill();
    Add(Guarded(Use(), to, Any(8) == 0 ? !negated : negated));
    if (Any(2) != 0) Branch();
    return std::move(steps_);
  }

 private:
  unsigned Any(unsigned below) { return static_cast<unsigned>(random_() % below); }

  void Add(Step step, bool perhaps_guarded = false) {
    if (perhaps_guarded) step = Guarded(std::move(step), Any(2), Any(2) != 0);
    steps_.push_back(std::move(step));
  }
  void Fill() {
    for (unsigned k = Any(3) == 0 ? 1 + Any(2) : 0; k > 0; --k) Add(One(), Any(5) < 2);
  }
  // Over some of it, or back.
  void Branch() {
    const int at = static_cast<int>(Any(static_cast<unsigned>(steps_.size())));
    Step step = Guarded({.text = "BRA `(.L_1)", .does = [](Thread&) {}}, Any(2), Any(2) != 0);
    step.to = static_cast<int>(Any(static_cast<unsigned>(steps_.size())));
    steps_.insert(steps_.begin() + at, std::move(step));
  }

  static Step Guarded(Step step, unsigned predicate, bool negated) {
    step.text = absl::StrCat(negated ? "@!P" : "@P", predicate, " ", step.text);
    step.guard = static_cast<int>(predicate);
    step.negated = negated;
    return step;
  }
  static Step Write(bool from_memory) {
    return {.text = from_memory ? "MOV R9, R5" : "MOV R9, R7",
            .does = [=](Thread& t) { t.from_memory = from_memory; }};
  }
  static Step Use() {
    return {.text = "LDG.E R0, desc[UR4][R8.64]", .does = [](Thread&) {}, .uses = true};
  }
  static Step Compare(unsigned p, uint32_t with) {
    return {.text = absl::StrCat("ISETP.GE.U32.AND P", p, ", PT, R4, 0x", with, ", PT"),
            .does = [=](Thread& t) { t.predicates[p] = t.loaded >= with; }};
  }
  static Step Save(unsigned in, unsigned p) {
    return {.text = absl::StrCat("P2R R1", in, ", PR, RZ, 0x", 1 << p),
            .does = [=](Thread& t) { t.saved[in] = t.predicates[p] ? 1u << p : 0; }};
  }
  static Step Ask(unsigned p, unsigned in, bool zero = false) {
    return {.text = absl::StrCat(zero ? "ISETP.EQ.AND P" : "ISETP.NE.AND P", p, ", PT, R1", in,
                                 ", RZ, PT"),
            .does = [=](Thread& t) { t.predicates[p] = (t.saved[in] == 0) == zero; }};
  }
  static Step Clear(unsigned in, unsigned bit) {
    return {.text = absl::StrCat("LOP3.LUT R1", in, ", R1", in, ", 0x", absl::Hex(~(1u << bit)),
                                 ", RZ, 0xc0, !PT"),
            .does = [=](Thread& t) { t.saved[in] &= ~(1u << bit); }};
  }
  static Step SetBit(unsigned in, unsigned bit) {
    return {
        .text = absl::StrCat("LOP3.LUT R1", in, ", R1", in, ", 0x", 1 << bit, ", RZ, 0xfc, !PT"),
        .does = [=](Thread& t) { t.saved[in] |= 1u << bit; }};
  }
  static Step AskBit(unsigned p, unsigned in, unsigned bit) {
    return {
        .text = absl::StrCat("LOP3.LUT P", p, ", RZ, R1", in, ", 0x", 1 << bit, ", RZ, 0xc0, !PT"),
        .does = [=](Thread& t) { t.predicates[p] = (t.saved[in] >> bit & 1) != 0; }};
  }
  Step One() {
    const unsigned p = Any(2), in = Any(2), bit = Any(2);
    switch (Any(9)) {
      case 0:
        return Write(Any(2) != 0);
      case 1:
        return Compare(p, Any(4));
      case 2:
        return Save(in, p);
      case 3:
        return Ask(p, in, Any(2) != 0);
      case 4:
        return Clear(in, bit);
      case 5:
        return SetBit(in, bit);
      case 6:
        return AskBit(p, in, bit);
      case 7:
        return {.text = absl::StrCat("R2P PR, R1", in, ", 0x3"), .does = [=](Thread& t) {
                  for (unsigned k : {0u, 1u}) t.predicates[k] = (t.saved[in] >> k & 1) != 0;
                }};
      default:
        return {.text = absl::StrCat("MOV R1", in, ", R4"),
                .does = [=](Thread& t) { t.saved[in] = t.loaded; }};
    }
  }

  std::mt19937 random_;
  std::vector<Step> steps_;
};

std::string TextOf(const std::vector<Step>& steps) {
  int label = -1;
  for (const Step& step : steps) label = step.to >= 0 ? step.to : label;
  // R4 and R5 come from memory, R6 and R7 are a parameter.
  std::string rows =
      "LDC.64 R2, c[0x0][0x210]\nLDG.E.64 R4, desc[UR4][R2.64]\nLDC.64 R6, c[0x0][0x218]\n"
      "MOV R8, R6\nMOV R9, R5\nMOV R10, 0x7\nMOV R11, 0x7\n";
  for (size_t k = 0; k < steps.size(); ++k) {
    absl::StrAppend(&rows, static_cast<int>(k) == label ? ".L_1:\n" : "", steps[k].text, "\n");
  }
  std::string text =
      "\t.target\tsm_90\n\t.section\t.text.k,\"ax\",@progbits\n"
      "\t.other k,@\"STO_CUDA_ENTRY STV_DEFAULT\"\nk:\n.text.k:\n";
  AppendRows(rows + "EXIT", &text);
  return text;
}

// Whether a thread that loads that uses an address from memory, within so many steps.
bool TakesAnAddress(const std::vector<Step>& steps, Thread thread) {
  size_t at = 0;
  for (int step = 0; step < 100 && at < steps.size(); ++step) {
    const Step& now = steps[at++];
    if (!now.Runs(thread)) continue;
    if (now.uses && thread.from_memory) return true;
    now.does(thread);
    if (now.to >= 0) at = static_cast<size_t>(now.to);
  }
  return false;
}

TEST(SavedGuardProgramsTest, NoneThatIsProvenTakesAnAddressFromMemory) {
  constexpr unsigned kPrograms = 20000;
  unsigned proven = 0;
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    const std::vector<Step> steps = Maker(seed).Make();
    const std::string text = TextOf(steps);
    if (!ReadKernels(text)[0].proven) continue;
    ++proven;
    for (unsigned start = 0; start < 16; ++start) {
      const Thread thread = {.predicates = {(start & 1) != 0, (start & 2) != 0},
                             .loaded = start >> 2};
      ASSERT_FALSE(TakesAnAddress(steps, thread)) << text;
    }
  }
  // Else it would say little.
  EXPECT_GT(proven, kPrograms / 10);
  EXPECT_LT(proven, kPrograms / 2);
}

}  // namespace
}  // namespace saved_guard_programs_test
}  // namespace vramspan::prove
