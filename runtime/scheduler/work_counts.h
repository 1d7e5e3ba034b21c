// Which chunks held and released work uses, as counts in the chunks, and how much work may touch
// any chunk. What is counted neither moves nor goes.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_WORK_COUNTS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_WORK_COUNTS_H_

#include <cstdint>

#include "runtime/placement/policy.h"
#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

class WorkCounts {
 public:
  explicit WorkCounts(Residency* residency) : residency_(*residency) {}

  // The work waits in the queue, and no longer does.
  void Held(const Work& work) { Queued(work, 1); }
  void Unheld(const Work& work) { Queued(work, -1); }
  // It is released: its chunks are used. `policy` is told; null: nobody is.
  void Released(const Work& work, EvictionPolicy* policy);
  // It was released, and has ended or will not run.
  void Ended(const Work& work);
  // Held work whose thread is inside the call that submits it, or no longer.
  void SetInSubmission(Work* work, bool in_submission);

  // Work of other contexts, which may touch any memory here.
  void ForeignWorkBegan() {
    ++barriers_;
    ++need_all_mapped_;
  }
  // False: there was none.
  bool ForeignWorkEnded() {
    if (barriers_ == 0) return false;
    --barriers_;
    --need_all_mapped_;
    return true;
  }
  // Released work that may touch any memory, and foreign work: nothing moves.
  uint32_t barriers() const { return barriers_; }
  // Released work that needs all memory mapped, and foreign work.
  uint32_t need_all_mapped() const { return need_all_mapped_; }
  // Work in submission, and such as may name any chunk to the driver.
  uint32_t in_submission() const { return in_submission_; }
  uint32_t unknown_in_submission() const { return unknown_in_submission_; }

 private:
  // A piece of work that is nothing but an eviction uses nothing.
  static bool Counts(const Work& work) { return work.kind != Work::Kind::kEvict; }
  void Queued(const Work& work, int by);

  Residency& residency_;
  uint32_t barriers_ = 0, need_all_mapped_ = 0;
  uint32_t in_submission_ = 0, unknown_in_submission_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_WORK_COUNTS_H_
