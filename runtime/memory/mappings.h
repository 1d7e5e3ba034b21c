// The chunks of detached memory that the program mapped into its reservations: they come with a
// mapping, and go in steps, for the mover to wait in between (runtime/mover/unmapping.h).
//
// Pure bookkeeping: what the driver does is Vmm's and the mover's. Threads: not safe; the caller
// holds the memory lock. Errors: InvalidArgument for what was not reserved, is mapped, or is not.
#ifndef VRAMSPAN_RUNTIME_MEMORY_MAPPINGS_H_
#define VRAMSPAN_RUNTIME_MEMORY_MAPPINGS_H_

#include <absl/types/span.h>

#include <vector>

#include "runtime/base/status.h"
#include "runtime/memory/chunk_map.h"
#include "runtime/memory/detached_memory.h"
#include "runtime/memory/freed_ranges.h"
#include "runtime/memory/run_listener.h"

namespace vramspan {

class Mappings {
 public:
  // All outlive it; the listener may be null.
  Mappings(ChunkMap* map, FreedRanges* freed, RunListener* listener)
      : map_(*map), freed_(*freed), listener_(listener) {}

  // --- a mapping comes ---
  // Entries of chunks for what is to be mapped at `at`. An error changes nothing.
  StatusOr<std::vector<ChunkIndex>> Prepare(const DetachedMemory& detached, DevicePtr at);
  // The driver refused it.
  void GiveUp(const std::vector<ChunkIndex>& added);
  // It is mapped: from here on work finds it. `pinned`: it stays where it is.
  void Show(const std::vector<ChunkIndex>& added, const DetachedMemory& detached, DevicePtr at,
            bool pinned, bool tracked);

  // What is mapped at `at`, for as long as nothing moves it.
  StatusOr<DetachedMemory> DetachedAt(DevicePtr at);

  // --- a mapping goes ---
  // The chunks of the mapping at `at`: from here on no work names them, and no move of them begins.
  StatusOr<std::vector<ChunkIndex>> Claim(DevicePtr at);
  void Unclaim(absl::Span<const ChunkIndex> chunks);
  struct Taken {
    DevicePtr at;
    DetachedMemory detached;  // Of what was mapped elsewhere as well this is one of several.
    std::vector<ChunkIndex> chunks;
    std::vector<bool> unmapped;
  };
  // Nothing finds them any more. REQUIRES: the mover is not at work on them, and access does not
  // change until the driver has unmapped them (Peers::mapping_mu is held shared).
  Taken TakeOut(DevicePtr at, const std::vector<ChunkIndex>& chunks);
  // As it was. `missing`: by position in its chunks, nothing is mapped there.
  void PutBack(const Taken& taken, const std::vector<bool>& missing);
  // It is not mapped any more. Chunks that work still counts go when it has ended.
  void Leave(const Taken& taken);

 private:
  ChunkMap& map_;
  FreedRanges& freed_;
  RunListener* const listener_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_MAPPINGS_H_
