// Where what a register holds comes from. Only of the upper half of an address does that matter: it
// is what tells one allocation from another.
#ifndef VRAMSPAN_TOOLS_PROVE_ORIGINS_H_
#define VRAMSPAN_TOOLS_PROVE_ORIGINS_H_

#include <cstdint>

namespace vramspan::prove {

// In this order: where several meet, the last of them counts.
enum class Origin : uint8_t {
  kNumber,  // Immediates, special registers, and what is too narrow for an address.
  kWindow,  // What the driver put before the parameters: windows of shared and local memory.
  kModule,  // Addresses of the module's own variables and functions.
  kParameter,
  kMemory,  // Loaded, or not understood.
};

// Whether that made another of it.
inline bool JoinOne(Origin other, Origin* one) {
  if (other <= *one) return false;
  *one = other;
  return true;
}

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_ORIGINS_H_
