// Work from its submission to its end: what is held, what is released, and what becomes known of
// it.
//
// Held work is released strictly in order. Work let go ahead of the head could be stuck behind it
// all the same (by a shared hardware queue, an event, the legacy stream) while the head waits for
// its memory.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_WORK_FLOW_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_WORK_FLOW_H_

#include <cstdint>

#include "runtime/scheduler/action.h"
#include "runtime/scheduler/empty_chunks.h"
#include "runtime/scheduler/host_copies.h"
#include "runtime/scheduler/moves.h"
#include "runtime/scheduler/owner.h"
#include "runtime/scheduler/patience.h"
#include "runtime/scheduler/planning.h"
#include "runtime/scheduler/readiness.h"
#include "runtime/scheduler/trials.h"
#include "runtime/scheduler/unmapped_chunks.h"
#include "runtime/scheduler/work_counts.h"
#include "runtime/scheduler/work_queue.h"

namespace vramspan {

// The other parts of the scheduler that work meets. All outlive it.
struct WorkFlowParts {
  Residency* residency;
  WorkQueue* queue;
  WorkCounts* counts;
  HostCopies* host_copies;
  EmptyChunks* empty;
  Trials* trials;  // Null where the owner makes the plans.
  Patience* patience;
  UnmappedChunks* unmapped;
  Readiness* readiness;
  const Moves* moves;
  Planning* planning;
  EvictionPolicy* policy;  // Null where the owner makes the plans.
  SchedulerOwner* owner;
};

class WorkFlow {
 public:
  struct Statistics {
    uint64_t in_place = 0;   // Work released with some of its memory on the host.
    uint64_t deadlines = 0;  // Work let go so because it waited too long.
    Duration held{0};        // How long work was held, in sum.
  };

  explicit WorkFlow(const WorkFlowParts& parts) : parts_(parts) {}

  // --- a thread submits ---
  // Whether one more, beside `coming` others, is too much and must wait until some is released: so
  // that no stream fills up, in which the driver would block the thread.
  bool Full(bool kernels_only, uint32_t coming = 0) const;
  // True: it runs at once, and counts as released. False: it is held.
  bool Submit(Work* work, const Moment& at);
  // Its thread is inside the call that submits it, or no longer.
  void SetInSubmission(Work* work, bool in_submission);
  // So many launches that take fingerprints follow the held work.
  void FollowedBy(Work* work, uint32_t launches);
  // It will not run. Whether it was held.
  bool Cancelled(Work* work);
  // Work from before it is recorded: its chunks are counted, and no more, until CountedEnded.
  void Counted(Work* work);
  void CountedEnded(const Work& work) { parts_.counts->Ended(work); }

  // --- it goes on ---
  // Its stream has come as far as the work: whatever the program did before is done.
  void Arrived(Work* work);
  // Nothing will tell when it has: its chunks stay until work that declared them has ended.
  void ArrivesUntold(Work* work) { work->needs_arrival = false; }
  // It was let go, as kRelease asked.
  void Released(Work* work, const Moment& at);
  // It has ended, and ran from `began` at the earliest. `at_once`: its end was seen when it came.
  void Finished(Work* work, Instant began, bool at_once, Instant now);
  // A look at what has ended is over; Finished was called for what had.
  // Whether any had.
  bool Looked(Instant now);

  // --- all work ---
  // Work of other contexts, which may touch and write any memory.
  void ForeignWorkBegan(Instant now);
  // False: there was none.
  bool ForeignWorkEnded();
  // Any memory may have been written, but for what is read mostly if so said.
  void AnyMayBeWritten(bool but_read_mostly);
  // The program does not want what is in the chunk any more, behind all that was submitted.
  // `unowned`: it is free, and touches it no more until Owned.
  void GivenUp(ChunkIndex chunk, bool unowned) { parts_.empty->GiveUp(chunk, unowned); }
  void Owned(ChunkIndex chunk) { parts_.empty->Owned(chunk); }
  // A kernel has killed the context: nothing runs any more.
  void ContextDied() { dead_ = true; }
  // What is held goes on with its memory where it is.
  void AllInPlace();
  // The same for what may touch the chunk.
  void InPlaceWith(ChunkIndex chunk);

  // --- decisions ---
  // The head, where it may go now: it is no longer held. Null: none may.
  Work* TakeReady(const Moment& at);
  // Waiting ends for what has waited too long.
  struct Overdue {
    bool work_may_go = false;   // Some is to run with its memory where it is,
    bool copies_stuck = false;  // or copies may wait for it, where they can.
  };
  Overdue CheckDeadline(const Moment& at);
  // When it does, as things stand, unless `before`.
  Instant Due(Instant before, Instant now);
  Conditions ConditionsAt(const Moment& at) const;
  bool running() const { return released_ != 0; }
  const Statistics& statistics() const { return statistics_; }

 private:
  void MarkReleased(Work* work, const Moment& at);
  void NothingIsKnown(bool but_read_mostly);  // Of host copies.
  Patience::Situation Situation(Instant now);

  const WorkFlowParts parts_;
  uint32_t released_ = 0;              // And not known to have ended, before the look that goes on,
  uint32_t ended_ = 0;                 // in which so many are found to have.
  uint32_t fingerprint_launches_ = 0;  // Behind held work.
  bool dead_ = false;
  Instant looked_;
  Statistics statistics_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_WORK_FLOW_H_
