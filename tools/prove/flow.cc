#include "tools/prove/flow.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include "tools/prove/callee.h"
#include "tools/prove/calls.h"
#include "tools/prove/operations.h"
#include "tools/prove/ways.h"
#include "tools/prove/windows.h"
#include "tools/prove/word_rules.h"

namespace vramspan::prove {
namespace {

class Flow {
 public:
  Flow(const SassText& text, const SassCode& code, const ParameterRanges* assumed)
      : text_(text),
        code_(code),
        assumed_(assumed),
        machine_(MachineOf(text.version)),
        blocks_(code),
        states_(code.instructions.size()),
        calls_(states_) {}

  const std::vector<ParameterRange>& tests() const { return tests_; }

  std::string FirstDoubt() {
    if (!code_.stray.empty()) return absl::StrCat("a line that is not understood: ", code_.stray);
    if (code_.instructions.empty()) return "no code";
    if (machine_.parameters == 0) return absl::StrCat("unknown architecture: ", text_.version);
    machine_.windows = MayTakeWindows(code_, machine_);
    states_.Enter(0, State(), 0);
    Origin before{};
    do {
      before = shared_;
      if (!GoThrough()) return why_;
      // Other threads may have stored before.
      if (shared_ != before) states_.RepeatAll();
    } while (shared_ != before);
    // That an address has no parameter is known when nothing more is found to lead to it.
    settled_ = true;
    states_.RepeatAll();
    return GoThrough() ? "" : why_;
  }

 private:
  bool GoThrough() {
    while (const std::optional<size_t> at = states_.Next()) {
      const bool fine = Block(*at);
      if (fine && !states_.Limit().empty()) why_ = states_.Limit();
      if (!fine || !states_.Limit().empty()) return false;
    }
    return true;
  }

  bool Block(size_t at) {
    State now = states_.Before(at);
    const size_t function = states_.FunctionOf(at), count = code_.instructions.size();
    for (size_t k = at; k < count; ++k) {
      if (k != at && blocks_.IsHead(k)) {
        states_.Enter(k, now, function);
        return true;
      }
      // What predicates guard is looked through at each instruction.
      states_.Work(1 + now.registers().saved().size() / kLookedThrough);
      bool goes_on = true;
      if (!One(k, function, &now, &goes_on)) return false;
      if (!goes_on) return true;
    }
    // Behind the last one.
    states_.Enter(count, now, function);
    return true;
  }

  bool One(size_t k, size_t function, State* now, bool* goes_on) {
    const SassInstruction& i = code_.instructions[k];
    if (assumed_ == nullptr) return One(i, k, function, now, goes_on);
    const SassGuard guard = ChoosesBy(i);
    const std::optional<ParameterRange> test = now->words().TestOf(guard);
    const std::optional<bool> runs = test ? Decided(*test, *assumed_) : std::nullopt;
    if (runs == false) return true;
    if (test && !runs) Remember(*test);
    const SassInstruction always = runs ? Always(i) : i;
    const Learnt learnt = LearntFrom(always, machine_.parameters, now->words());
    if (!One(always, k, function, now, goes_on)) return false;
    if (const auto more = MayWriteToo(always)) now->words().Forget(*more);
    for (const auto& [reg, word] : learnt.words) now->words().Set(reg, word);
    if (learnt.test) now->words().SetTest(learnt.test->first, learnt.test->second);
    return true;
  }

  bool One(const SassInstruction& i, size_t k, size_t function, State* now, bool* goes_on) {
    if (i.opcode == "CALL") return Call(i, k, function, *now, goes_on);
    if (i.opcode == "RET") {
      *goes_on = i.Conditional();
      return calls_.Return(function, *now) || Doubt("a return that nothing called", i);
    }
    Ways ways;
    if (FindWays(i, blocks_, k, now, &ways)) {
      if (!ways.doubt.empty()) return Doubt(ways.doubt, i);
      for (const size_t to : ways.to) {
        states_.Enter(to, *now, function);
        if (!states_.Limit().empty()) break;
      }
      *goes_on = ways.goes_on;
      return true;
    }
    Effect effect(i, machine_, settled_, now, &shared_, &why_);
    return Operate(effect);
  }

  // The predicate by which it runs or does not. BRA.U UP0, `(.L_x_1) has it among its operands.
  static SassGuard ChoosesBy(const SassInstruction& i) {
    if (i.opcode != "BRA") return i.guard;
    // .ANY and others go by what other threads have, as well.
    if (!i.modifiers.empty() && i.modifiers != ".U") return kOtherGuard;
    const bool named =
        i.operands.size() == 2 && i.operands[0].kind == SassOperand::Kind::kPredicate;
    if (!named) return i.guard;
    return i.guard == kNoGuard ? GuardOf(i.operands[0].text) : kOtherGuard;
  }

  // The same where that predicate holds.
  static SassInstruction Always(SassInstruction i) {
    if (i.guard == kNoGuard) i.operands.erase(i.operands.begin());
    i.guard = kNoGuard;
    return i;
  }

  void Remember(const ParameterRange& test) {
    for (const ParameterRange& known : tests_) {
      if (known == test || known == Outside(test)) return;
    }
    if (tests_.size() < kMostTests) tests_.push_back(test);
  }

  bool Call(const SassInstruction& i, size_t k, size_t function, const State& now, bool* goes_on) {
    *goes_on = i.Conditional();
    const bool named = !i.operands.empty() && absl::StartsWith(i.operands[0].text, "`(");
    if (const std::optional<size_t> to = named ? blocks_.Find(i.Label()) : std::nullopt) {
      calls_.Call(k, function, *to, now);
      return true;
    }
    return CallsEnd(k) || Doubt("a call that is not known", i);
  }

  // By an address that stands in bank 4: of code that ends the kernel.
  bool CallsEnd(size_t k) const {
    const SassInstruction& i = code_.instructions[k];
    if (text_.ends_is_own || i.operands.empty() || !i.Has("ABS") ||
        i.operands[0].kind != SassOperand::Kind::kRegister) {
      return false;
    }
    return CalleeOf(text_, code_, blocks_, k) == kEnds;
  }

  bool Doubt(std::string_view what, const SassInstruction& i) {
    why_ = absl::StrCat(what, ": ", i.text);
    return false;
  }

  static constexpr size_t kMostTests = 64;
  static constexpr size_t kLookedThrough = 32;

  const SassText& text_;
  const SassCode& code_;
  const ParameterRanges* const assumed_;
  Machine machine_;
  const Blocks blocks_;
  States states_;
  Calls calls_;
  Origin shared_{};  // What threads have put into shared memory, whichever did, and wherever.
  bool settled_ = false;
  std::string why_;
  std::vector<ParameterRange> tests_;
};

}  // namespace

Followed Follow(const SassText& text, const SassCode& code, const ParameterRanges* assumed) {
  Flow flow(text, code, assumed);
  std::string doubt = flow.FirstDoubt();
  return {.doubt = std::move(doubt), .tests = flow.tests()};
}

}  // namespace vramspan::prove
