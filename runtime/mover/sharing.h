// Memory for other processes: the chunks of a range get physical memory that can be exported, one
// after the other. Nothing else in the runtime has memory of that kind: it is never cached for
// another chunk (slot_pool.h), for whoever it was given to keeps it mapped as long as he likes.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_MOVER_SHARING_H_
#define VRAMSPAN_RUNTIME_MOVER_SHARING_H_

#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/placements.h"
#include "runtime/mover/unmapping.h"

namespace vramspan {

// Whole chunks, one physical handle each, that can be exported as file descriptors.
struct SharedMemory {
  struct Piece {
    CUmemGenericAllocationHandle handle = 0;
    Bytes size;
  };
  DevicePtr base;
  std::vector<Piece> pieces;
};

class Sharing {
 public:
  // All outlive it.
  Sharing(Memory* memory, MoverAccounts* accounts, Placements* placements, Unmapping* unmapping)
      : memory_(*memory), accounts_(*accounts), placements_(*placements), unmapping_(*unmapping) {}

  // See Mover::Share.
  StatusOr<SharedMemory> Share(DevicePtr ptr, Bytes size) VS_EXCLUDES(unmapping_.one);

 private:
  Status MakeShareable(ChunkIndex index) VS_REQUIRES(unmapping_.one);
  Status CopyTo(const Slot& made, DevicePtr from, Bytes size);

  Memory& memory_;
  MoverAccounts& accounts_;
  Placements& placements_;
  Unmapping& unmapping_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_SHARING_H_
