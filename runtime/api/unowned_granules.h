// What a recording was told is nobody's, for it need not tell of all that is handed out.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_UNOWNED_GRANULES_H_
#define VRAMSPAN_RUNTIME_API_UNOWNED_GRANULES_H_

#include <absl/container/flat_hash_set.h>

#include <cstdint>

#include "runtime/base/mutex.h"
#include "runtime/base/units.h"

namespace vramspan {

class UnownedGranules {
 public:
  void Add(DevicePtr p, Bytes size) VS_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    for (uint64_t i = First(p); i < End(p, size) && granules_.size() < kMost; ++i) {
      granules_.insert(i);
    }
  }
  // Whether any of it was nobody's. Size 0: of all memory.
  bool Remove(DevicePtr p, Bytes size) VS_EXCLUDES(mu_) {
    MutexLock lock(mu_);
    if (granules_.empty()) return false;
    const size_t before = granules_.size();
    if (size == Bytes(0)) granules_.clear();
    for (uint64_t i = First(p); size != Bytes(0) && i < End(p, size); ++i) granules_.erase(i);
    return granules_.size() != before;
  }

 private:
  static constexpr size_t kMost = size_t{1} << 20;  // 2 TiB; beyond, they stay nobody's.

  static uint64_t First(DevicePtr p) { return p.value / kGranularity.value; }
  static uint64_t End(DevicePtr p, Bytes size) {
    return (p.value + size.value + kGranularity.value - 1) / kGranularity.value;
  }

  Mutex mu_;
  absl::flat_hash_set<uint64_t> granules_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_UNOWNED_GRANULES_H_
