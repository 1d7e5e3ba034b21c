#include "runtime/memory/freed_ranges.h"

#include <algorithm>

namespace vramspan {

std::vector<ChunkRange> FreedRanges::TakeIdle(absl::FunctionRef<bool(ChunkIndex)> busy) {
  std::vector<ChunkRange> idle;
  for (size_t i = 0; i < dying_.size();) {
    if (std::any_of(dying_[i].chunks.begin(), dying_[i].chunks.end(), busy)) {
      ++i;
      continue;
    }
    idle.push_back(std::move(dying_[i]));
    dying_[i] = std::move(dying_.back());
    dying_.pop_back();
  }
  return idle;
}

std::vector<ChunkIndex> FreedRanges::TakeUnused(absl::FunctionRef<bool(ChunkIndex)> used) {
  const auto still = std::partition(left_.begin(), left_.end(), used);
  std::vector<ChunkIndex> unused(still, left_.end());
  left_.erase(still, left_.end());
  dying_count_.fetch_sub(static_cast<uint32_t>(unused.size()), std::memory_order_relaxed);
  return unused;
}

}  // namespace vramspan
