// Loads and stores.
//
// Whatever comes from global memory is from memory. Local and shared memory hold what was put
// there: a compiler spills there, and a program keeps its pointers there. What nobody has put there
// is not read: in C++ that would be undefined.
#ifndef VRAMSPAN_TOOLS_PROVE_MEMORY_H_
#define VRAMSPAN_TOOLS_PROVE_MEMORY_H_

#include "tools/prove/effect.h"

namespace vramspan::prove {

bool LoadGlobal(Effect& effect);
bool StoreGlobal(Effect& effect);
bool UpdateGlobal(Effect& effect);     // Atomically, with what was there as the result.
bool CopyToShared(Effect& effect);     // LDGSTS
bool CopyInBulk(Effect& effect);       // UBLKCP
bool CopyByTensorMap(Effect& effect);  // UTMALDG
void LoadConstant(Effect& effect);
void LoadShared(Effect& effect);
void StoreShared(Effect& effect);

// A part of a word: where it is stored, the rest of that stays.
bool IsNarrow(const Effect& effect);

// What the instruction stores: the last of all registers that it reads.
Origin Stored(const Effect& effect);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_MEMORY_H_
