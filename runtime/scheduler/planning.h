// When a plan is made, and the plan that is being carried out, move by move.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_PLANNING_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_PLANNING_H_

#include <cstddef>
#include <cstdint>

#include "runtime/placement/planner.h"
#include "runtime/scheduler/action.h"
#include "runtime/scheduler/idle_fetches.h"
#include "runtime/scheduler/moves.h"
#include "runtime/scheduler/owner.h"
#include "runtime/scheduler/plan_maker.h"
#include "runtime/scheduler/trials.h"
#include "runtime/scheduler/work_counts.h"
#include "runtime/scheduler/work_queue.h"

namespace vramspan {

// The other parts of the scheduler that plans meet. All outlive it.
struct PlanningParts {
  Residency* residency;
  WorkQueue* queue;
  const WorkCounts* counts;
  Trials* trials;  // These two: null where the owner makes the plans.
  PlanMaker* plan_maker;
  Moves* moves;
  SchedulerOwner* owner;
};

class Planning {
 public:
  // `idle_fetches`: what is hot comes back by itself while nothing else is to be done.
  // `always_prints`: fingerprints can be taken of chunks beside work that runs.
  Planning(const PlanningParts& parts, bool idle_fetches, bool always_prints)
      : parts_(parts), idle_fetches_on_(idle_fetches), always_prints_(always_prints) {}

  // --- what may change a plan ---
  void Again() { again_ = true; }
  // There may be room: for hot chunks, too.
  void RoomCame() {
    again_ = true;
    idle_fetches_.LookAgain();
  }
  // The same for work; null plan makers are not told.
  void Submitted(Work* work);
  void Released(Work* head);
  void Ended(const Work& work);
  // Held work wants others than it did, or is to run in place.
  void Remake();
  // After a failure what failed will most likely fail again: nothing begins for a while.
  void Failed(Instant now);
  // What was to come found no memory: that went to another.
  void Refused(Instant now);
  bool Pauses(Instant now) const { return now < not_before_; }
  Instant not_before() const { return not_before_; }

  // --- the plan ---
  // The next move of it, which begins; a new plan is made where one is due. Null: none is to begin.
  // `work_may_go`: held work may go on that could not before.
  ChunkMove* NextMove(const Moment& at, const Conditions& conditions, bool* work_may_go);
  // When idle fetches may come, unless `before`.
  Instant Due(const Moment& at, Instant before) const;
  // Something may have to be begun though nothing is held and nothing runs.
  bool pending() const {
    return parts_.queue->empty() && ((again_ && Expects()) || ReturnsAreDue());
  }
  uint64_t returned() const { return returned_; }  // Idle fetches that began.
  uint64_t plans() const { return plans_; }        // Made that had something to say.
  // How often work that ends is to be looked for while nothing is held: it makes room for what is
  // expected.
  Duration looks_each() const;

 private:
  static constexpr Duration kAfterFailure = std::chrono::milliseconds(5);
  static constexpr Duration kAfterRefusal = std::chrono::microseconds(100);
  // Of what nobody waits for.
  static constexpr Duration kAfterFailureAhead = std::chrono::seconds(1);
  static constexpr Duration kAfterRefusalAhead = std::chrono::milliseconds(20);
  // About what a chunk takes to come; four doublings, while all that is expected lies on the
  // device. Choices, tried on train, llama and gemm-chain of examples/traces.
  static constexpr Duration kAheadAfter = std::chrono::microseconds(200);
  static constexpr Duration kAheadAtMost = 16 * kAheadAfter;

  enum class For : uint8_t {
    kWork,
    kExpected,  // What is expected alone.
    kNobody,    // What is hot comes back.
  };

  bool IsDue(const Moment& at) const;
  bool Expects() const {
    return parts_.plan_maker != nullptr && !asked_ && parts_.plan_maker->Expects();
  }
  // What is expected comes first.
  bool ReturnsAreDue() const {
    return idle_fetches_on_ && idle_fetches_.due() && !(plan_.lacks && Expects());
  }
  // Whether what is expected is looked at, though nothing is held and nothing must leave.
  bool LooksAhead(const Moment& at) const;
  // When the next plan for it may be made.
  Instant AheadFrom() const { return std::max(made_ + ahead_after_, ahead_not_before_); }
  void SetNextAhead();  // After a plan of work.
  MoveCause CauseOf(const ChunkMove& move, const Moment& at) const;
  // Whether work may go on.
  bool Make(const Moment& at, const Conditions& conditions);
  bool MayReturn(const Moment& at) const;
  ChunkMove* NextOfPlan(const Moment& at, const Conditions& conditions, Bytes pipeline);
  // Whether a chunk that moves may have its fingerprint taken. Not while streams of the program run
  // or wait for their memory: a kernel of ours takes turns with both, for a millisecond and more,
  // and the copies behind it wait. The head stands for all that is held. It may be a request to
  // move, which no stream waits for. Or it may write anything: behind such work no fingerprint
  // tells what it left, so what is only read would be copied out each time.
  bool MayPrint(const Conditions& conditions) const;
  ChunkMove* NextEviction(const Moment& at, const Conditions& conditions, Bytes pipeline);
  ChunkMove* NextFetch(const Moment& at, const Conditions& conditions, Bytes pipeline);
  // Work at the head of the queue may have asked that the chunk leaves: once is enough, or work
  // that wants it back would never be done with. Whether some had.
  bool ServeEvictions(ChunkIndex chunk);
  void DropFetches() { fetches_ = plan_.fetch.size(); }

  const PlanningParts parts_;
  const bool idle_fetches_on_, always_prints_;
  IdleFetches idle_fetches_;
  Plan plan_;
  size_t evictions_ = 0, fetches_ = 0;  // Of the plan, so many have been looked at.
  Instant fetches_until_;
  bool again_ = false;
  Bytes available_, used_;  // When the last was made.
  Instant made_;
  For plan_for_ = For::kWork;
  bool asked_ = false;  // The program asked for a move, and has submitted nothing else since.
  Duration ahead_after_ = kAheadAfter;
  Instant ahead_not_before_;
  Instant not_before_;
  uint64_t returned_ = 0, plans_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_PLANNING_H_
