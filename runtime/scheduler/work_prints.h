// Which fingerprints are taken behind work, of what it may write. They tell whether it was written:
// whatever leaves the device unwritten need not be copied (host_copies.h).
//
// Where they may be taken is said when the work is submitted, and which are when it is released: a
// program may be laps ahead of the device.
//
// Pure: no clock, no lock. One owner. To take them is the caller's.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_WORK_PRINTS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_WORK_PRINTS_H_

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/scheduler/work_queue.h"
#include "runtime/space/chunk_table.h"

namespace vramspan {

class WorkPrints {
 public:
  static constexpr size_t kMost = 32;  // Of one piece of work.
  static constexpr size_t kOfALaunch = 8;
  // Kernels that take so many.
  static uint32_t Launches(size_t prints) {
    return static_cast<uint32_t>((prints + kOfALaunch - 1) / kOfALaunch);
  }

  // Both outlive it.
  WorkPrints(ChunkTable* chunks, const WorkQueue* queue) : chunks_(*chunks), queue_(*queue) {}

  // Whether any may be taken behind the work.
  static bool May(const Work& work) { return work.kind == Work::Kind::kScope && !work.barrier(); }
  // The work was submitted: notes in it those that may be taken. `take` says where one will be;
  // none where there is no place. `host_used`: memory lives in host memory. While everything fits
  // nothing leaves, and none is worth it.
  void Choose(Work* work, bool host_used, absl::FunctionRef<std::optional<uint32_t>()> take);
  // It is released: `ask` is told of those that are taken.
  void Ask(const Work& work, bool host_used, absl::FunctionRef<void(const WorkPrint&)> ask);
  // They could not be put behind it.
  void Drop(Work* work);

 private:
  static bool IsWorth(const Chunk& c, bool host_used);
  // Work that is right behind it in the queue has one of the chunk.
  bool TakenSoon(const Work& work, ChunkIndex index) const;

  ChunkTable& chunks_;
  const WorkQueue& queue_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_WORK_PRINTS_H_
