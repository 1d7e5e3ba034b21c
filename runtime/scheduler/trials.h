// Prices and trials: what a launch has served where it lies, and what launches teach of that. A
// kernel's history says what its arguments cost in place (placement/kernel_history.h). Where that
// is not known, one launch leaves one chunk on the host, to see: a trial.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_TRIALS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_TRIALS_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "runtime/placement/heat.h"
#include "runtime/placement/in_place.h"
#include "runtime/placement/kernel_history.h"
#include "runtime/placement/policy.h"
#include "runtime/placement/prices.h"
#include "runtime/placement/reuse.h"
#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

class Trials {
 public:
  // A trial waits for copies beside it, which would be in what it takes. All copies that are under
  // way at once take so long, and what hangs is not waited for.
  static constexpr Duration kAlone = std::chrono::milliseconds(10);
  // A duration is believed when the looks at the stream's mark were so much closer together, or
  // closer than what a chunk's way over the bus takes.
  static constexpr int kResolution = 8;
  static constexpr Duration kFineEnough = std::chrono::microseconds(50);

  // All outlive it. `device_memory`: the budget.
  Trials(const Residency* residency, EvictionPolicy* policy, const Prices& prices,
         Bytes device_memory)
      : residency_(*residency),
        policy_(*policy),
        prices_(prices),
        history_(prices),
        budget_(device_memory),
        heat_(device_memory),
        reuse_(device_memory) {}

  KernelHistory& history() { return history_; }
  const KernelHistory& history() const { return history_; }
  Heat& heat() { return heat_; }
  void BudgetIs(Bytes budget) {
    if (budget == budget_) return;
    budget_ = budget;
    heat_.BudgetIs(budget);
    reuse_.BudgetIs(budget);
  }

  // Wants on the device what is not served in place.
  void Want(Work* work) {
    work->WantTheRest();
    work->wanted.version = next_version_++;
  }

  // --- prices. `room`: device memory that may be filled ---
  // A launch comes. Leaves on the host what is as cheap there, and notes what it touches.
  void PriceNew(Work* work, Bytes room);
  // What was learnt since the queue was priced may price it otherwise: prices it again. Whether it
  // was due. `queue`: held work, as pointers.
  template <typename Queue>
  bool PriceQueue(const Queue& queue, Bytes room) {
    if (priced_at_ == history_.changes()) return false;
    priced_at_ = history_.changes();
    for (Work* work : queue) {
      if (work->kernel != 0 && !work->run_in_place) Price(work, room);
    }
    return true;
  }

  // --- trials ---
  // The head lacks memory. Where it is not known what that would cost, one chunk of it stays away.
  // Whether one does.
  bool Try(Work* head);
  uint64_t made() const { return made_; }
  bool OnTrial(const Work& work) const { return work.id == trial_for_; }
  // The chunk that stays away for the head, whoever else wants it.
  ChunkIndex TrialOf(const Work& head) const { return OnTrial(head) ? trial_ : ChunkIndex(); }
  // The head is on trial and has the rest of its memory. `moving`: moves are under way.
  bool WaitsForCopies(bool moving, Instant now);
  // When that wait ends, if no move does before.
  std::optional<Instant> WaitsUntil() const {
    return waits_ ? std::optional(*waits_ + kAlone) : std::nullopt;
  }

  // --- what launches teach ---
  // A kernel is released: notes what it finds where. Not before `released_at` says when.
  void Released(Work* kernel);
  // It will not run.
  void Cancelled(const Work& work) { timed_ -= work.timed; }
  // It has ended. `began`: not before; `gap`: since the look before. `disturbed`: it took its time
  // for other reasons than its own.
  void Finished(const Work& kernel, Instant began, Duration gap, bool disturbed, Instant now);
  // Work runs whose end is to be seen when it comes: a trial, or the first launches of a kernel.
  bool TimedRuns(Instant now) const { return timed_ != 0 && now < timed_until_; }
  Instant timed_until() const { return timed_until_; }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  ServedArguments Price(Work* work, Bytes room);
  void OfferVictims(PlaceMerit::Take take);
  // The argument whose chunk the work leaves on the host to see; kSeveral where it leaves none.
  uint16_t TriedSlot(const Work& kernel) const;

  const Residency& residency_;
  EvictionPolicy& policy_;
  const Prices prices_;
  KernelHistory history_;
  Bytes budget_;
  Heat heat_;
  Reuse reuse_;
  uint64_t priced_at_ = 0;  // KernelHistory::changes of the queue's prices.
  uint64_t next_version_ = uint64_t{1} << 32;
  uint64_t made_ = 0;  // Trials.
  ChunkIndex trial_;
  uint64_t trial_for_ = kNone;
  std::optional<Instant> waits_;  // The trial does, since then.
  uint32_t timed_ = 0;            // Launches that run, see TimedRuns.
  Instant timed_until_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_TRIALS_H_
