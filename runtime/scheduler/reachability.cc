#include "runtime/scheduler/reachability.h"

#include <algorithm>

namespace vramspan {

bool Reachability::MustWait(const Work& work) {
  const uint32_t unmapped = residency_.unmapped();
  if (unmapped == 0 && listed_.empty()) return false;
  if (work.access == Access::kUnknown) {
    unmapped_.MapAll(unmapped != 0);
    return true;
  }
  bool any = false;
  work.ForEach([&](const ChunkUse& use) {
    if (use.how.kernels_only) return;
    any = any || std::find(listed_.begin(), listed_.end(), use.chunk) != listed_.end();
    if (!residency_[use.chunk].unmapped) return;
    unmapped_.Map(use.chunk);
    any = true;
  });
  return any;
}

bool Reachability::QueryMustWait() {
  const bool any = residency_.unmapped() != 0;
  unmapped_.MapAll(any);
  return any || !listed_.empty();
}

}  // namespace vramspan
