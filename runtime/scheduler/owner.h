// What only the owner of the streams and the memory can tell or do.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_OWNER_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_OWNER_H_

#include <absl/functional/function_ref.h>

#include "runtime/placement/planner.h"
#include "runtime/scheduler/plan_maker.h"
#include "runtime/scheduler/readiness.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

// Called by the scheduler. Neither waits, nor calls the driver.
class SchedulerOwner {
 public:
  // The host copy of a chunk on the device is of no use any more.
  virtual void DropHostCopy(ChunkIndex chunk) = 0;
  // Calls `visit` with the first work of each stream among what is released and has not ended.
  virtual void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) = 0;
  // Another's plan (a bound's), where there is no policy. Whether work may go on that could not.
  virtual bool MakePlan(const Room&, const Conditions&, Plan*) { return false; }

 protected:
  ~SchedulerOwner() = default;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_OWNER_H_
