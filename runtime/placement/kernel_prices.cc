#include "runtime/placement/kernel_prices.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/clean_text.h"
#include "runtime/base/digits.h"

namespace vramspan {
namespace {

constexpr double kThousandths = 1000;

bool Digits(std::string_view text, double most, uint64_t* value) {
  return ParseDigits(text, value) && static_cast<double>(*value) <= most;
}

bool Hex(std::string_view text, uint64_t* value) {
  return text.size() == 16 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         absl::SimpleHexAtoi(text, value);
}

bool Parse(std::string_view word, KernelPrice* price) {
  const std::vector<std::string_view> parts = absl::StrSplit(word, absl::MaxSplits(':', 4));
  uint64_t thousandths = 0;
  if (parts.size() != 4 || !Hex(parts[0], &price->name) || !Hex(parts[1], &price->shape) ||
      !Digits(parts[2], KernelPrice::kMostPasses * kThousandths, &thousandths) ||
      !Digits(parts[3], static_cast<double>(KernelPrice::kMostResident), &price->resident_ns)) {
    return false;
  }
  price->passes = static_cast<double>(thousandths) / kThousandths;
  return true;
}

}  // namespace

uint64_t KernelPrice::HashOfName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

StatusOr<std::vector<KernelPrice>> ParseKernelPrices(std::string_view text) {
  std::vector<KernelPrice> prices;
  if (text.empty()) return prices;
  for (const std::string_view word : absl::StrSplit(text, ',')) {
    if (prices.size() == kMostKernelPrices) {
      return absl::InvalidArgumentError(
          absl::StrCat("has more than ", kMostKernelPrices, " kernels"));
    }
    if (!Parse(word, &prices.emplace_back())) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", Repeated(word), "' should be NAME:SHAPE:PASSES:RESIDENT_NS"));
    }
  }
  return prices;
}

std::string KernelPricesText(absl::Span<const KernelPrice> prices) {
  std::string text;
  for (const KernelPrice& p : prices.subspan(0, kMostKernelPrices)) {
    const double passes = std::clamp(p.passes, 0.0, KernelPrice::kMostPasses);
    absl::StrAppend(&text, text.empty() ? "" : ",", absl::Hex(p.name, absl::kZeroPad16), ":",
                    absl::Hex(p.shape, absl::kZeroPad16), ":", std::llround(passes * kThousandths),
                    ":", std::min(p.resident_ns, KernelPrice::kMostResident));
  }
  return text;
}

}  // namespace vramspan
