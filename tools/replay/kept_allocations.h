// The allocations that a profile keeps on the device (runtime/placement/pins.h), as a replay makes
// them: which ones live, and the advice to their chunks.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_KEPT_ALLOCATIONS_H_
#define VRAMSPAN_TOOLS_REPLAY_KEPT_ALLOCATIONS_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/pins.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/virtual_memory.h"

namespace vramspan::replay {

class KeptAllocations {
 public:
  // `chunks` and `memory` outlive it.
  KeptAllocations(const ChunkedRun* chunks, VirtualMemory* memory, const std::vector<Pin>& pins,
                  Bytes budget);
  // Its chunks are there.
  void Made(uint32_t allocation);
  void Freed(uint32_t allocation);
  void SetBudget(Bytes budget);

 private:
  void Advise();

  const ChunkedRun& chunks_;
  VirtualMemory& memory_;
  Pins pins_;
  std::vector<uint32_t> pinned_;  // By pin: the allocation that lives, or Pins::kNone.
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_KEPT_ALLOCATIONS_H_
