// Which unused memory the driver gets back first: what the slot pools do, and the replay tool after
// them.
#ifndef VRAMSPAN_RUNTIME_SPACE_GIVE_BACK_H_
#define VRAMSPAN_RUNTIME_SPACE_GIVE_BACK_H_

#include "runtime/base/units.h"

namespace vramspan {

// Where `need` bytes have to go, the log2 of the chunk size of which one goes next: the smallest
// that is enough alone, else the largest, so that few driver calls are made and little is lost. Of
// those sizes for which `has(log2)`; 0 where there is none.
template <typename Has>
int SizeToGiveBack(Bytes need, Has has) {
  int pick = 0;
  for (int log2 = kMinChunkLog2; log2 <= kMaxChunkLog2; ++log2) {
    if (!has(log2)) continue;
    pick = log2;
    if (ChunkBytes(log2) >= need) break;
  }
  return pick;
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_GIVE_BACK_H_
