// Asks the planner: shows it the chunks, the work and the room, and carries out what its answer
// means for the work. To start the moves is the caller's.
//
// What the planner is shown of the queue is kept from plan to plan and follows each event where it
// can. Else it is made anew.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_PLAN_MAKER_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_PLAN_MAKER_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/planner.h"
#include "runtime/scheduler/chunk_views.h"
#include "runtime/scheduler/patience.h"
#include "runtime/scheduler/planned_queue.h"
#include "runtime/scheduler/readiness.h"
#include "runtime/scheduler/released_work.h"
#include "runtime/scheduler/sequence.h"
#include "runtime/scheduler/trials.h"
#include "runtime/scheduler/unmapped_chunks.h"
#include "runtime/scheduler/work_counts.h"
#include "runtime/scheduler/work_queue.h"

namespace vramspan {

// Device memory and the moves under way.
struct Room {
  Bytes budget;
  Bytes used;
  Bytes available;              // May be filled right away.
  Bytes moving_in, moving_out;  // Copies under way and waiting; what leaves will be room.
};

// The other parts of the scheduler that a plan looks at. All outlive it.
struct PlanSources {
  Residency* residency;
  WorkQueue* queue;
  const WorkCounts* counts;
  const Readiness* readiness;
  UnmappedChunks* unmapped;
  Trials* trials;
  Sequence* sequence;
  const Patience* patience;
};

class PlanMaker {
 public:
  // `traced`: every launch is seen, so what repeats is expected to.
  PlanMaker(const PlanSources& sources, EvictionPolicy* policy, const Prices& prices, bool traced)
      : from_(sources),
        prices_(prices),
        traced_(traced),
        views_(sources.residency),
        planner_(policy) {}

  // --- what happens to work ---
  // It comes, and is priced: held, if its `held` says so, else released at once.
  void Submitted(Work* work);
  void Released(Work* head);  // It was held.
  void Ended(const Work& work);
  // Anything else about held work has changed: what it wants, or that it is to run in place.
  void Remake() {
    changed_ = true;
    follows_ = false;
  }
  // Released work that has not ended.
  size_t released() const { return released_.size(); }

  // --- the plan ---
  // It is known what comes next, though none of it may have come.
  bool Expects() const { return traced_ && from_.sequence->confident(); }
  // What to start now, in this order. Whether work may go on that could not before: a trial was
  // made of it, or it is to run in place.
  bool Make(const Room& room, const Conditions& at, Plan* plan);

 private:
  // Whether no move is to begin now, whatever the planner would say.
  bool Rests(const Conditions& at);
  // What the program asked to be evicted, at the head of the queue.
  void AddExplicitEvictions(std::vector<ChunkIndex>* evict) const;
  QueuedWork Queued(const Work& work) const;
  void FollowQueue();
  void Retime();  // As the history expects by now.
  void MakeQueue();
  void AddForecast();
  bool QueueIsRight() const;
  // Nothing is begun for work that is merely expected, where it wants what somebody wants to stay
  // away until it is used again.
  void LeaveWhatIsBarred();
  bool RunInPlace(const Plan& plan, Instant now);  // Whether there was any such work.

  const PlanSources from_;
  const Prices prices_;
  const bool traced_;
  ChunkViews views_;
  Planner planner_;
  Plan made_;  // The planner's last answer, kept for its memory.
  ReleasedWork released_;
  // The queue as the planner sees it: whether that follows each event, and whether any came since.
  PlannedQueue planned_;
  bool follows_ = false, changed_ = true;
  std::vector<Work*> held_;               // As it was made anew: those held,
  size_t run_in_place_ = 0;               // of which so many, the first, are counted as released.
  uint64_t durations_ = 0;                // The history's expected_changes, as the queue has them.
  std::vector<ChunkIndex> with_fetches_;  // Of the head, with what is fetched for others.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_PLAN_MAKER_H_
