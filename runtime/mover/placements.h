// Explicit placement: prefetch, pin and unpin. Each is work without a launch, which goes through
// the queue as declared work does and is served by the same planner.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_MOVER_PLACEMENTS_H_
#define VRAMSPAN_RUNTIME_MOVER_PLACEMENTS_H_

#include <atomic>
#include <cstdint>
#include <optional>

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
  // none is. `unowned`: nor does it touch the range until Own, which is called before anybody is
  // given it. Neither waits for the device.
  // `during`: nothing is, unless watch() is still that.
  // Ignored while any scope is open in which the program declares work: what it submits there, and
  // that may touch the range, has long been taken in.
  Status GiveUp(DevicePtr ptr, Bytes size, bool unowned,
                std::optional<uint64_t> during = std::nullopt);
  // The number of the recording that goes on; 0: none does, and work is not seen.
  uint64_t watch() const;
  // Before a scope of that kind begins, and when it has ended or did not begin.
  void ScopeOpens() { open_.fetch_add(1, std::memory_order_relaxed); }
  void ScopeCloses() { open_.fetch_sub(1, std::memory_order_relaxed); }
  void Own(DevicePtr ptr, Bytes size);
  // Own for all memory: somebody may have any of it.
  void OwnAll();
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
  std::atomic<uint32_t> open_{0};  // Whoever began one has had the memory lock since.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_PLACEMENTS_H_
