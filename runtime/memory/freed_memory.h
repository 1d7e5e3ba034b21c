// Freed memory, from the free until it is taken apart: only when no GPU work can touch it any more.
//
// Where all work is recorded (see Tracking) that is known chunk by chunk; before, freed memory
// waits in a quarantine until the context has been drained once for many frees, the way cuMemFree
// itself waits.
//
// Threads: any. Errors: InvalidArgument for what cannot be freed, and those of Dismantler.
#ifndef VRAMSPAN_RUNTIME_MEMORY_FREED_MEMORY_H_
#define VRAMSPAN_RUNTIME_MEMORY_FREED_MEMORY_H_

#include "runtime/memory/dismantler.h"
#include "runtime/memory/drains.h"
#include "runtime/memory/memory_state.h"
#include "runtime/memory/small_memory.h"

namespace vramspan {

class FreedMemory {
 public:
  // All outlive it.
  FreedMemory(MemoryState* state, Dismantler* dismantler, SmallMemory* small, Drains* drains)
      : state_(*state), dismantler_(*dismantler), small_(*small), drains_(*drains) {}

  // `idle`: all work that may touch it has ended, as the caller knows. Then nothing is waited for.
  Status Free(DevicePtr base, bool idle) VS_EXCLUDES(state_.mu);
  // Takes apart freed memory whose work has finished. Returns true if anything was.
  bool Reclaim() VS_EXCLUDES(state_.mu);
  // Drains if anything is quarantined, and takes that apart, and what the driver refused before.
  Status DrainAndReclaim() VS_EXCLUDES(state_.mu);
  // Whether DrainAndReclaim has anything to do.
  bool any() VS_EXCLUDES(state_.mu);

 private:
  // The allocation that begins at `base` is found no more: its range, to be taken apart. Without
  // chunks where it went into quarantine; `drain`: so much waits there that it is time to drain.
  StatusOr<ChunkRange> Remove(DevicePtr base, uint32_t allocation, bool idle, bool* drain)
      VS_REQUIRES(state_.mu);

  MemoryState& state_;
  Dismantler& dismantler_;
  SmallMemory& small_;
  Drains& drains_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_FREED_MEMORY_H_
