// The text of a learned file. One line a kernel, and behind it one for each of its arguments:
//
//   vramspan-learned 1
//   key 3f0c7d8a90b1e342
//   program /usr/bin/python3 /home/ada/train.py --steps _
//   device NVIDIA H100 80GB HBM3, GPU 0, driver 13000, vramspan 0.1.0
//   runs 3
//   kernel NAME MODULE SHAPE BYTES RESIDENT_NS TOUCHED RESIDENT_AGE AGE TEXT
//   argument SLOT narrow|wide sure|once PASSES_IN_THOUSANDTHS AGE
//   end SUM
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"
#include "runtime/placement/kernel_prices.h"
#include "runtime/placement/learned_kernels.h"

namespace vramspan {
namespace {

constexpr std::string_view kFirstLine = "vramspan-learned 1";
constexpr double kThousandths = 1000;
constexpr uint64_t kMostRuns = 1'000'000'000;
constexpr uint64_t kMostSlot = 0xffff;
constexpr uint64_t kAnySize = uint64_t{1} << 56;
constexpr size_t kEndLine = 4 + 16 + 1;  // "end ", the sum, and the line's end.

// At most: CleanText may add three dots.
std::string Words(std::string_view text, size_t most) { return CleanText(text, most - 3); }

std::string KernelLines(const LearnedKernel& k) {
  const auto hex = [](uint64_t number) { return absl::Hex(number, absl::kZeroPad16); };
  std::string text =
      absl::StrCat("kernel ", hex(k.id.name), " ", hex(k.id.module), " ", hex(k.id.shape));
  absl::StrAppend(&text, " ", k.id.bytes, " ",
                  std::min(k.resident_ns, LearnedKernel::kMostResident), " ", k.touched.value, " ",
                  k.resident_age, " ", k.age, " ", Words(k.name, LearnedKernel::kMostName), "\n");
  for (const auto& [price, age] : k.arguments) {
    const double passes = std::clamp(price.passes, 0.0, LearnedKernel::kMostPasses);
    absl::StrAppend(&text, "argument ", price.slot, price.wide ? " wide" : " narrow",
                    price.sure ? " sure " : " once ", std::llround(passes * kThousandths), " ", age,
                    "\n");
  }
  return text;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : left_(text) {}

  StatusOr<Learned> Parse() {
    VS_RETURN_IF_ERROR(Head());
    while (!left_.empty()) {
      const std::string_view line = Line();
      const std::vector<std::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 9));
      const bool fits = words[0] == "kernel" ? Kernel(words) : Argument(words);
      if (!fits) {
        return absl::InvalidArgumentError(absl::StrCat("line ", line_, ": '", Repeated(line),
                                                       "' is neither a kernel nor an argument"));
      }
    }
    return std::move(learned_);
  }

 private:
  std::string_view Line() {
    ++line_;
    const size_t end = std::min(left_.find('\n'), left_.size());
    const std::string_view line = left_.substr(0, end);
    left_.remove_prefix(std::min(end + 1, left_.size()));
    return line;
  }

  Status Head() {
    static_cast<void>(Line());  // The version.
    const auto field = [&](std::string_view name, std::string_view* value) {
      *value = Line();
      return value->starts_with(name) && (value->remove_prefix(name.size()), true);
    };
    const auto words = [&](std::string_view name, std::string* to) {
      std::string_view value;
      if (!field(name, &value) || value.size() > Learned::kMostWords) return false;
      *to = value;
      return true;
    };
    std::string_view key, runs;
    if (!field("key ", &key) || !Hex(key, &learned_.key) || !words("program ", &learned_.program) ||
        !words("device ", &learned_.device) || !field("runs ", &runs) ||
        !Number(runs, kMostRuns, &learned_.runs)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_, " is not the key, the program, the device or the runs"));
    }
    return absl::OkStatus();
  }

  bool Kernel(const std::vector<std::string_view>& w) {
    if (w.size() != 10 || learned_.kernels.size() == Learned::kMostKernels) return false;
    LearnedKernel& k = learned_.kernels.emplace_back();
    uint64_t resident_age = 0, age = 0;
    if (!Hex(w[1], &k.id.name) || !Hex(w[2], &k.id.module) || !Hex(w[3], &k.id.shape) ||
        !Number(w[4], kAnySize, &k.id.bytes) ||
        !Number(w[5], LearnedKernel::kMostResident, &k.resident_ns) ||
        !Number(w[6], kAnySize, &k.touched.value) ||
        !Number(w[7], Learned::kMostAge, &resident_age) || !Number(w[8], Learned::kMostAge, &age) ||
        w[9].size() > LearnedKernel::kMostName) {
      return false;
    }
    k.resident_age = static_cast<uint32_t>(resident_age);
    k.age = static_cast<uint32_t>(age);
    k.name = w[9];
    return true;
  }

  bool Argument(const std::vector<std::string_view>& w) {
    if (w.size() != 6 || w[0] != "argument" || learned_.kernels.empty()) return false;
    std::vector<LearnedKernel::Argument>& all = learned_.kernels.back().arguments;
    uint64_t slot = 0, thousandths = 0, age = 0;
    if (all.size() == LearnedKernel::kMostArguments || !Number(w[1], kMostSlot, &slot) ||
        (w[2] != "wide" && w[2] != "narrow") || (w[3] != "sure" && w[3] != "once") ||
        !Number(w[4], static_cast<uint64_t>(LearnedKernel::kMostPasses * kThousandths),
                &thousandths) ||
        !Number(w[5], Learned::kMostAge, &age)) {
      return false;
    }
    all.push_back({.price = {.slot = static_cast<uint16_t>(slot),
                             .wide = w[2] == "wide",
                             .sure = w[3] == "sure",
                             .passes = static_cast<double>(thousandths) / kThousandths},
                   .age = static_cast<uint32_t>(age)});
    return true;
  }

  static bool Number(std::string_view text, uint64_t most, uint64_t* value) {
    return ParseDigits(text, value) && *value <= most;
  }
  static bool Hex(std::string_view text, uint64_t* value) {
    return text.size() == 16 &&
           text.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
           absl::SimpleHexAtoi(text, value);
  }

  std::string_view left_;
  size_t line_ = 0;
  Learned learned_;
};

}  // namespace

std::string LearnedEnd(std::string_view text) {
  return absl::StrCat("end ", absl::Hex(KernelPrice::HashOfName(text), absl::kZeroPad16), "\n");
}

std::string LearnedText(const Learned& learned) {
  std::string text = absl::StrCat(kFirstLine, "\nkey ", absl::Hex(learned.key, absl::kZeroPad16),
                                  "\nprogram ", Words(learned.program, Learned::kMostWords),
                                  "\ndevice ", Words(learned.device, Learned::kMostWords),
                                  "\nruns ", std::min(learned.runs, kMostRuns), "\n");
  for (const LearnedKernel& k : learned.kernels) {
    const std::string lines = KernelLines(k);
    if (text.size() + lines.size() + kEndLine > kMostLearnedText) break;
    text += lines;
  }
  return text + LearnedEnd(text);
}

StatusOr<Learned> ParseLearned(std::string_view text) {
  if (text.size() > kMostLearnedText) {
    return absl::InvalidArgumentError(absl::StrCat("the file is longer than ", kMostLearnedText,
                                                   " bytes, so vramspan did not write it"));
  }
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first != kFirstLine) {
    const std::string why = absl::StrCat("the first line is not \"", kFirstLine, "\"");
    return first.starts_with("vramspan-learned ") ? absl::FailedPreconditionError(why)
                                                  : absl::InvalidArgumentError(why);
  }
  const std::string_view body = text.substr(0, text.size() - std::min(kEndLine, text.size()));
  if (text.size() <= kEndLine || text.substr(body.size()) != LearnedEnd(body)) {
    return absl::InvalidArgumentError("the file is not whole, or was changed: its sum is another");
  }
  return Parser(body).Parse();
}

}  // namespace vramspan
