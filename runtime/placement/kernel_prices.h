// What a profile (vramspan tune) proves of a program's kernels, for a runtime that has not seen
// them yet: how often each byte crosses the bus when it is served in place, and how long a launch
// takes with its memory on the device. Pure.
//
// A kernel is known by a hash of its name and by the shape of its launch, for handles change from
// run to run.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_KERNEL_PRICES_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_KERNEL_PRICES_H_

#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan {

inline constexpr size_t kMostKernelPrices = 500;

struct KernelPrice {
  static constexpr double kMostPasses = 1e6;
  static constexpr uint64_t kMostResident = 1'000'000'000'000;  // Nanoseconds.

  uint64_t name = 0;   // HashOfName.
  uint64_t shape = 0;  // Submission::shape.
  double passes = 0;
  uint64_t resident_ns = 0;

  // FNV-1a of 64 bits: the same in every process.
  static uint64_t HashOfName(std::string_view name);

  bool operator==(const KernelPrice&) const = default;
};

// "NAME:SHAPE:PASSES:RESIDENT_NS,…", as VRAMSPAN_KERNELS has it; the first two of 16 hexadecimal
// digits, passes in thousandths. InvalidArgument names what is wrong of which.
StatusOr<std::vector<KernelPrice>> ParseKernelPrices(std::string_view text);
// No more than kMostKernelPrices.
std::string KernelPricesText(absl::Span<const KernelPrice> prices);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_KERNEL_PRICES_H_
