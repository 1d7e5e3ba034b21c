// Tells the mover what a profile proves of kernels (VRAMSPAN_KERNELS, placement/kernel_prices.h),
// as they are first launched while memory is short. Made only where a profile has any.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_KERNEL_TEACHER_H_
#define VRAMSPAN_RUNTIME_API_KERNEL_TEACHER_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/driver/driver.h"
#include "runtime/placement/kernel_prices.h"

namespace vramspan {

class KernelTeacher {
 public:
  KernelTeacher(const std::vector<KernelPrice>& prices, std::shared_ptr<const Driver> driver);

  // What is known of the launch of `code` in `shape`, where `kernel`, as the mover's history knows
  // it, comes in that shape for the first time; else nothing.
  std::optional<KernelPrice> FirstSeen(uint64_t kernel, const void* code, uint64_t shape);

 private:
  // Beyond these all are taken for new: to be told something again does no harm.
  static constexpr size_t kMostSeen = 4096;

  const std::shared_ptr<const Driver> driver_;
  absl::flat_hash_map<std::pair<uint64_t, uint64_t>, KernelPrice> prices_;  // By name and shape.
  Mutex mu_;
  absl::flat_hash_set<uint64_t> seen_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_KERNEL_TEACHER_H_
