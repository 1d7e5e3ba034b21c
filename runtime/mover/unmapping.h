// What the program unmaps itself, or has memory of the driver put in the place of. Both take memory
// from behind an address, so both come to pass only when no work that was submitted can miss it.
//
// An unmap is the program's own word that nothing uses the memory: the driver waits for nothing and
// lets work that is wrong about that die. Here it waits for work that names the memory, since that
// may have ended without the mover having looked; not for work that is only thought to go so far.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_MOVER_UNMAPPING_H_
#define VRAMSPAN_RUNTIME_MOVER_UNMAPPING_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <chrono>
#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/memory/run_listener.h"
#include "runtime/mover/gate.h"
#include "runtime/mover/program_streams.h"
#include "runtime/mover/signals.h"
#include "runtime/mover/work_fingerprints.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class Unmapping {
 public:
  struct Parts {
    Scheduler* scheduler;
    Signals* signals;
    Gate* gate;
    ProgramStreams* streams;
    WorkFingerprints* prints;
    RunListener* listener;  // Null: none.
    bool traced;
  };
  // All outlive it.
  Unmapping(Memory* memory, const Parts& parts) : memory_(*memory), parts_(parts) {}

  // See Mover::Unmap and Mover::Replace. REQUIRES of Replace: recording has begun.
  StatusOr<std::vector<DetachedMemory>> Unmap(absl::Span<const DevicePtr> mappings, DevicePtr p,
                                              Bytes size) VS_EXCLUDES(memory_.mu);
  StatusOr<DetachedMemory> Replace(absl::Span<const DevicePtr> mappings, Bytes size,
                                   CUmemGenericAllocationHandle by,
                                   absl::FunctionRef<Status(const DetachedMemory&)> copy,
                                   absl::FunctionRef<Status(DevicePtr)> open)
      VS_EXCLUDES(memory_.mu, one);
  // Closes the gate when nothing that was submitted may use the chunks, and claims them (see
  // Mappings::Claim) if wanted; `why` for the error.
  Status CloseUnused(absl::Span<const ChunkIndex> chunks, bool claim, const char* why)
      VS_REQUIRES(one) VS_EXCLUDES(memory_.mu);
  void OpenGate() { parts_.gate->Open(); }

  // Who closes the gate for that, one at a time; taken before everything else.
  Mutex one;

 private:
  // Work that has not ended names one of the chunks itself.
  bool Named(absl::Span<const ChunkIndex> chunks) VS_REQUIRES(memory_.mu);
  // How much released work that needs the chunk only mapped is accounted for.
  size_t Loosely(ChunkIndex chunk) const;
  // Fingerprints of the chunks that have not begun are not taken. Whether any may be under way.
  bool CallOffReads(absl::Span<const ChunkIndex> chunks) VS_REQUIRES(memory_.mu);
  bool Moving(absl::Span<const ChunkIndex> chunks) VS_REQUIRES(memory_.mu);
  StatusOr<std::vector<DetachedMemory>> UnmapTaken(absl::Span<const Mappings::Taken> taken,
                                                   DevicePtr p, Bytes size)
      VS_REQUIRES_SHARED(memory_.peers().mapping_mu) VS_EXCLUDES(memory_.mu);
  // Of several mappings, so many, the first.
  struct Swapped {
    size_t unmapped = 0, mapped = 0;
  };
  Status Swap(absl::Span<const DevicePtr> mappings, Bytes size, CUmemGenericAllocationHandle by,
              absl::FunctionRef<Status(DevicePtr)> open, Swapped* done)
      VS_REQUIRES_SHARED(memory_.peers().mapping_mu);
  // Nothing that was submitted may use them. `drained`: all that was submitted has been waited for.
  bool Unused(absl::Span<const ChunkIndex> chunks, bool drained) VS_REQUIRES(memory_.mu);
  // Work from before recording ends by marks; some streams nobody can mark.
  bool EndsByMarks(std::chrono::steady_clock::duration waited) VS_EXCLUDES(memory_.mu);

  Memory& memory_;
  const Parts parts_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_UNMAPPING_H_
