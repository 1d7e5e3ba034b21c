#include "runtime/api/kernel_teacher.h"

#include "runtime/base/mix.h"

namespace vramspan {

KernelTeacher::KernelTeacher(const std::vector<KernelPrice>& prices,
                             std::shared_ptr<const Driver> driver)
    : driver_(std::move(driver)) {
  for (const KernelPrice& price : prices) prices_.try_emplace({price.name, price.shape}, price);
}

std::optional<KernelPrice> KernelTeacher::FirstSeen(uint64_t kernel, const void* code,
                                                    uint64_t shape) {
  {
    MutexLock lock(mu_);
    if (seen_.size() == kMostSeen) seen_.clear();
    if (!seen_.insert(Mix(kernel, shape)).second) return std::nullopt;
  }
  const uint64_t name = KernelPrice::HashOfName(KernelName(*driver_, code));
  const auto known = prices_.find({name, shape});
  return known == prices_.end() ? std::nullopt : std::optional(known->second);
}

}  // namespace vramspan
