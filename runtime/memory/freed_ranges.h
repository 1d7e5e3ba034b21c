// Freed ranges by what they wait for: that the context is drained, that their chunks are idle, that
// the driver unmaps them, or that an allocation takes them over.
//
// Pure bookkeeping. Threads: not safe; the caller holds the memory lock, but for has_dying.
#ifndef VRAMSPAN_RUNTIME_MEMORY_FREED_RANGES_H_
#define VRAMSPAN_RUNTIME_MEMORY_FREED_RANGES_H_

#include <absl/functional/function_ref.h>

#include <atomic>
#include <utility>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/memory/free_range_cache.h"
#include "runtime/space/chunk.h"

namespace vramspan {

// A piece of address space with its chunks.
struct ChunkRange {
  DevicePtr base;
  Bytes size;
  std::vector<ChunkIndex> chunks;
  std::vector<bool> gone = {};  // By position in chunks: nothing is mapped there.
};

class FreedRanges {
 public:
  // --- until the context is drained: who uses them is not known ---
  void Quarantine(ChunkRange range) {
    quarantined_ += range.size;
    quarantine_.push_back(std::move(range));
  }
  bool any_quarantined() const { return !quarantine_.empty(); }
  Bytes quarantined() const { return quarantined_; }
  std::vector<ChunkRange> TakeQuarantine() {
    quarantined_ = Bytes(0);
    return std::exchange(quarantine_, {});
  }

  // --- until their chunks are idle ---
  void AddDying(ChunkRange range) {
    dying_.push_back(std::move(range));
    dying_count_.fetch_add(1, std::memory_order_relaxed);
  }
  // A chunk that nothing backs any more.
  void AddLeft(ChunkIndex chunk) {
    left_.push_back(chunk);
    dying_count_.fetch_add(1, std::memory_order_relaxed);
  }
  // The ranges of which no chunk is busy. They count as dying until TakenApart: whoever waits for
  // that waits for their memory.
  std::vector<ChunkRange> TakeIdle(absl::FunctionRef<bool(ChunkIndex)> busy);
  void TakenApart(size_t ranges) {
    dying_count_.fetch_sub(static_cast<uint32_t>(ranges), std::memory_order_release);
  }
  // The same of the chunks that nothing backs.
  std::vector<ChunkIndex> TakeUnused(absl::FunctionRef<bool(ChunkIndex)> used);
  // Of any thread, without the lock.
  bool has_dying() const { return dying_count_.load(std::memory_order_acquire) != 0; }

  // --- the driver did not unmap them: tried again later ---
  void AddStuck(ChunkRange range) { stuck_.push_back(std::move(range)); }
  bool any_stuck() const { return !stuck_.empty(); }
  std::vector<ChunkRange> TakeStuck() { return std::exchange(stuck_, {}); }

  // --- until an allocation of the same size takes them over ---
  FreeRangeCache& kept() { return kept_; }

 private:
  std::vector<ChunkRange> quarantine_;
  Bytes quarantined_;
  std::vector<ChunkRange> dying_;
  std::vector<ChunkIndex> left_;
  std::atomic<uint32_t> dying_count_{0};
  std::vector<ChunkRange> stuck_;
  FreeRangeCache kept_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_FREED_RANGES_H_
