// Chunks whose contents the program has given up, by a stream-ordered free or a discard: until
// something is put into one again it holds nothing, and moving it copies nothing.
//
// Whoever gives memory up says so behind the last work that may touch it. So a chunk is empty once
// the work that was held then has been released, and it moves only when that has ended. Work that
// may touch it puts something into it, as far as is known.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_EMPTY_CHUNKS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_EMPTY_CHUNKS_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/work_queue.h"

namespace vramspan {

class EmptyChunks {
 public:
  // Both outlive it.
  EmptyChunks(Residency* residency, const WorkQueue* queue)
      : residency_(*residency), queue_(*queue) {}

  // The contents are given up, behind all work that was submitted. `unowned`: see
  // WorkFlow::GivenUp.
  void GiveUp(ChunkIndex chunk, bool unowned);
  void Owned(ChunkIndex chunk);
  // Work was released, or taken out of the queue, and nobody will release what has left that.
  void QueueWentOn() {
    if (!given_up_.empty()) [[unlikely]]
      Settle();
  }
  // Work that named no chunk may have put something into any that somebody owns.
  void AnyMayBeFilled() { Fill(/*unowned=*/false); }
  // The same of such as is in no order with what is held, and of all memory.
  void ForgetAll();

 private:
  void Settle();
  void Empty(ChunkIndex chunk);
  void Fill(bool unowned);

  Residency& residency_;
  const WorkQueue& queue_;
  struct GivenUp {
    uint64_t behind = 0;  // What the queue calls the last work then.
    ChunkIndex chunk;
  };
  std::deque<GivenUp> given_up_;
  // Of a chunk, behind what it was given up: since it is marked, and last.
  struct Waiting {
    uint64_t first = 0, last = 0;
  };
  absl::flat_hash_map<ChunkIndex, Waiting> waiting_;
  std::vector<ChunkIndex> empty_;  // And such as have been filled since.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_EMPTY_CHUNKS_H_
