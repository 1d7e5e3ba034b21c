// Whether the scheduler need not be asked what to do next: it had nothing to do, and nothing has
// happened since that could have changed that.
//
// Pure. Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_SCHEDULER_REST_H_
#define VRAMSPAN_TOOLS_REPLAY_SCHEDULER_REST_H_

#include "runtime/base/units.h"

namespace vramspan::replay {

class SchedulerRest {
 public:
  // Anything but time was told to it.
  void Told() { told_ = true; }
  // It had nothing to do.
  void Began(Instant now) {
    told_ = false;
    began_ = now;
    due_ = Instant::max();
  }
  // Scheduler::Due says so.
  void Until(Instant due) { due_ = due; }
  // `held`: work is. That looks at what runs beside it each time, and notes when.
  bool Holds(bool held, Instant now) const {
    return !told_ && now < due_ && (now == began_ || !held);
  }

 private:
  bool told_ = true;
  Instant began_, due_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SCHEDULER_REST_H_
