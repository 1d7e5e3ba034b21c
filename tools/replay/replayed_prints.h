// The fingerprints that the runtime takes behind work (runtime/scheduler/work_prints.h), as the
// record says what work leaves in memory.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPLAYED_PRINTS_H_
#define VRAMSPAN_TOOLS_REPLAY_REPLAYED_PRINTS_H_

#include <cstdint>

#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/work_prints.h"
#include "tools/replay/active_work.h"
#include "tools/replay/virtual_memory.h"

namespace vramspan::replay {

class ReplayedPrints {
 public:
  // Both outlive it. `gb_per_s`: how fast device memory is read. `traced`: launches are; else none
  // are taken.
  ReplayedPrints(VirtualMemory* memory, Scheduler* scheduler, double gb_per_s, bool traced)
      : memory_(*memory),
        scheduler_(*scheduler),
        gb_per_s_(gb_per_s),
        traced_(traced),
        which_(&memory->table(), &scheduler->queue()) {}

  // The work was submitted, and is held if it says so.
  void Submitted(ActiveWork* a);
  // It is released, and what it may write is marked as written. Its places keep those that are
  // taken, each with what is in its chunk behind the work.
  void Released(ActiveWork* a);
  void Ended(const ActiveWork& a);

 private:
  VirtualMemory& memory_;
  Scheduler& scheduler_;
  const double gb_per_s_;
  const bool traced_;
  WorkPrints which_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPLAYED_PRINTS_H_
