// What instructions do, by opcode, as far as it matters to addresses.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_OPCODES_H_
#define VRAMSPAN_TOOLS_PROVE_OPCODES_H_

#include <cstdint>
#include <string_view>

namespace vramspan::prove {

enum class Does : uint8_t {
  kUnknown,
  kNothing,      // To registers.
  kMixes,        // Its result is made of its sources.
  kNumber,       // Its result is narrow, whatever its sources are.
  kCodeAddress,  // Its result is where it stands.
  kLoads,        // From global or generic memory.
  kStores,       // To it.
  kAtomics,
  kCopies,  // From global to shared memory, in the background.
  kBulk,
  kTensor,  // By a tensor map, whose address it is given.
  kLoadsConstant,
  kLoadsShared,
  kStoresShared,
  kLoadsLocal,
  kStoresLocal,
  kMatrix,  // Its result is data.
};

Does DoesOf(std::string_view opcode);

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_OPCODES_H_
