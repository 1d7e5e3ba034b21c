// Explicit placement: prefetch, pin and unpin. Each is work without a launch, which goes through
// the queue as declared work does and is served by the same planner.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_MOVER_PLACEMENTS_H_
#define VRAMSPAN_RUNTIME_MOVER_PLACEMENTS_H_

#include "runtime/memory/memory.h"
#include "runtime/mover/context_watch.h"
#include "runtime/mover/gate.h"
#include "runtime/mover/program_work.h"
#include "runtime/mover/recording.h"
#include "runtime/mover/signals.h"
#include "runtime/mover/work_scopes.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class Placements {
 public:
  struct Parts {
    Scheduler* scheduler;
    Signals* signals;
    ContextWatch* watch;
    ProgramWork* work;
    WorkScopes* scopes;
    Recording* recording;
    Gate* gate;
  };
  // All outlive it.
  Placements(Memory* memory, const Parts& parts) : memory_(*memory), parts_(parts) {}

  // Ordered in `stream` as work is.
  // What moves by request need: work is recorded. Waits for that.
  Status Require();
  Status Prefetch(DevicePtr ptr, Bytes size, bool to_device, CUstream stream);
  // The program does not want what is in the range any more, behind all work that was submitted.
  // Chunks that lie in it whole are empty from there on (empty_chunks.h); while memory suffices
  // none is. Never waits.
  Status GiveUp(DevicePtr ptr, Bytes size);
  // Fetches the range, waits for that, and pins its chunks; all or nothing.
  Status Pin(DevicePtr ptr, Bytes size);
  Status Unpin(DevicePtr ptr, Bytes size);
  // Pin, but what is on the device already is pinned where it is, whatever uses it, and what stands
  // in the way of the rest for the moment is outwaited.
  Status Hold(DevicePtr ptr, Bytes size);

 private:
  // All users of what is not on the device are known. Whether they had to be waited for.
  StatusOr<bool> KnowUsers(DevicePtr ptr, Bytes size) VS_EXCLUDES(memory_.mu);

  Memory& memory_;
  const Parts parts_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_PLACEMENTS_H_
