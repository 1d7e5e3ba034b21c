// The moves under way: how each begins, when it may be remapped, and what its end changes.
//
// A chunk is remapped only while no released work that has not ended may touch it. Every remap may
// be given up: the chunk then stays where it was.
//
// Pure: no clock, no lock. One owner. Memory, copies and mappings are the caller's.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_MOVES_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_MOVES_H_

#include <deque>
#include <vector>

#include "runtime/placement/policy.h"
#include "runtime/scheduler/chunk_move.h"
#include "runtime/scheduler/host_copies.h"
#include "runtime/scheduler/owner.h"
#include "runtime/scheduler/reachability.h"
#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/unmapped_chunks.h"
#include "runtime/scheduler/work_counts.h"
#include "runtime/scheduler/work_queue.h"

namespace vramspan {

// The other parts of the scheduler that moves look at. All outlive them.
struct MoveSources {
  Residency* residency;
  const WorkQueue* queue;
  const WorkCounts* counts;
  UnmappedChunks* unmapped;
  Reachability* reachability;
  HostCopies* host_copies;
  EvictionPolicy* policy;  // Is told who comes and goes; null: nobody is.
  SchedulerOwner* owner;
};

class Moves {
 public:
  struct Counts {
    uint64_t fetches = 0, evictions = 0;
    uint64_t fetches_unused = 0;  // Evicted again before any work had used them.
    Bytes in, out, out_clean;
  };
  // For how many the caller has room, and will have: one more than there ever were at once.
  size_t places() const { return places_.size() + 1; }

  explicit Moves(const MoveSources& sources) : from_(sources) {}

  // Under way, detached ones not among them.
  size_t size() const { return under_way_.size(); }
  absl::Span<ChunkMove* const> all() const { return under_way_; }
  // Of them, those whose chunk lost its mapping by an error that is not mended yet.
  uint32_t lost() const { return lost_; }
  // Copies under way and waiting.
  Bytes moving_in() const { return moving_in_; }
  Bytes moving_out() const { return moving_out_; }
  const Counts& counts() const { return counts_; }

  // --- a move begins; null where it may not (any more). `print`: a fingerprint can be taken ---
  ChunkMove* Evict(ChunkIndex chunk, bool print);
  ChunkMove* Fetch(ChunkIndex chunk, bool print);
  // Its copy is under way, or there is none to make: then Copied follows.
  void Started(ChunkMove* move) { move->stage = ChunkMove::Stage::kCopying; }
  // It could not be started, and is over. The chunk is where it was.
  void Refused(ChunkMove* move) { RollBack(move, /*equal=*/false); }
  void Copied(ChunkMove* move, const CopyOutcome& copy);

  // --- its end ---
  // The first that has been copied and may be remapped; null for none. Where threads that are
  // blocked in submission keep one from that for too long it has failed, and `blocked` is set: what
  // waits for it is to run in place.
  ChunkMove* ToRemap(Instant now, ChunkIndex* blocked);
  // The first in the stage; null for none.
  ChunkMove* First(ChunkMove::Stage stage) const;
  // How it is to be done, from here on. `may_hide`: a chunk may be left without a mapping.
  Remapping BeginRemap(ChunkMove* move, bool may_hide, Instant now);
  // What came of that, or of an attempt to mend a lost mapping. `host_has_room`: for copies of what
  // is on the device. Done: it is over.
  void Remapped(ChunkMove* move, RemapOutcome outcome, bool host_has_room);
  // It came to nothing, and is to be tried again.
  void NotRemapped(ChunkMove* move);
  // What was mapped ahead is unmapped, or could not be.
  void Unmapped(ChunkMove* move, bool ok);
  // A failed one is over. The chunk is where it was.
  void GiveUp(ChunkMove* move) { RollBack(move, move->clean); }
  // The chunk stays where it was, in use by the copy until that has ended. The memory that is
  // copied to is the copy's, and goes with it: a host copy that the chunk had, too.
  void Detach(ChunkMove* move);
  void DetachedEnded(ChunkMove* move);

 private:
  ChunkMove* Begin(ChunkIndex chunk, bool in);
  void Came(ChunkMove* move, bool host_has_room);
  void Left(ChunkMove* move);
  void RollBack(ChunkMove* move, bool equal);
  // It counts no more as under way.
  void Leave(ChunkMove* move);
  void End(ChunkMove* move);
  void SetLost(ChunkMove* move, bool lost);

  const MoveSources from_;
  std::deque<ChunkMove> places_;
  std::vector<uint32_t> free_;
  std::vector<ChunkMove*> under_way_;  // In the order in which they began.
  Bytes moving_in_, moving_out_;
  uint32_t lost_ = 0;
  Counts counts_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_MOVES_H_
