// The records of the program's work, and which chunks its ranges touch.
//
// Threads: the memory lock guards all of it.
#ifndef VRAMSPAN_RUNTIME_MOVER_WORK_POOL_H_
#define VRAMSPAN_RUNTIME_MOVER_WORK_POOL_H_

#include <absl/algorithm/container.h>
#include <absl/types/span.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/mover/stream_work.h"
#include "runtime/scheduler/untouched_chunks.h"

namespace vramspan {

// A piece of memory that work will touch.
struct WorkRange {
  DevicePtr ptr;
  Bytes size;
  Use use;

  bool operator==(const WorkRange&) const = default;
};

inline bool KernelsOnly(absl::Span<const WorkRange> ranges) {
  return absl::c_all_of(ranges, [](const WorkRange& range) { return range.use.kernels_only; });
}

// The chunks that the ranges of a launch came to, kept by whoever names the same ranges again.
struct KeptUses {
  // MemoryState::allocations_state() then: while it is that, ranges that lie in live allocations
  // come to the same chunks. 0: nothing is kept.
  uint64_t allocations = 0;
  uint64_t hash = 0;  // Sequence::HashOf the likely ones.
  std::vector<ChunkUse> all;
  std::vector<Neighbours> neighbours;  // Of them.
  size_t likely = 0, possible = 0;     // The first of them, and those behind.

  size_t bytes() const {
    return all.capacity() * sizeof(ChunkUse) + neighbours.capacity() * sizeof(Neighbours);
  }
};

class WorkPool {
 public:
  explicit WorkPool(Memory* memory) : memory_(*memory) {}

  // As new, with a number of its own.
  StreamWork* New();
  void Recycle(StreamWork* work);

  // From here to Recycle chunks may count the work. False: they count too much (kMostCounted), and
  // it must be taken for work that may touch anything.
  bool CountIn(StreamWork* work);
  bool full() const { return counted_ >= kMostCounted; }
  // Finds its chunks, and tells apart what it most likely touches and what it only may.
  void Collect(absl::Span<const WorkRange> ranges, StreamWork* work) VS_NO_THREAD_SAFETY_ANALYSIS;
  // The same by what is kept of the same ranges; keeps it, where that is nothing or old.
  void Collect(absl::Span<const WorkRange> ranges, KeptUses* kept,
               StreamWork* work) VS_NO_THREAD_SAFETY_ANALYSIS;

 private:
  void CollectAll(absl::Span<const WorkRange> ranges,
                  StreamWork* work) VS_NO_THREAD_SAFETY_ANALYSIS;
  // Gives the chunk of an index.
  auto ChunkOf() {
    return [this](ChunkIndex index)
               VS_NO_THREAD_SAFETY_ANALYSIS -> const Chunk& { return memory_.chunks()[index]; };
  }
  void LeaveOutUntouched(const std::vector<Neighbours>& neighbours,
                         StreamWork* work) VS_NO_THREAD_SAFETY_ANALYSIS;
  void Add(ChunkIndex index, const Chunk& c, const WorkRange& range, StreamWork* work);
  // How many are likely, and how many possible.
  static std::pair<size_t, size_t> Sort(std::vector<ChunkUse>* all);
  static void Split(size_t likely, size_t possible, StreamWork* work);

  Memory& memory_;
  std::vector<std::unique_ptr<StreamWork>> works_;
  std::vector<StreamWork*> spare_;
  uint64_t next_ = 1;
  uint32_t counted_ = 0;  // Work that chunks may count.
  // marks_[chunk] - mark_base_ is the chunk's position in the work that is being looked at; below
  // the base: not yet in it.
  std::vector<uint32_t> marks_;
  uint32_t mark_base_ = 1;
  UntouchedChunks untouched_;
  std::vector<Neighbours> neighbours_;  // Scratch.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_WORK_POOL_H_
