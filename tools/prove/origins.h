// Where what a register holds comes from. Only of the upper half of an address does that matter: it
// is what tells one allocation from another.
#ifndef VRAMSPAN_TOOLS_PROVE_ORIGINS_H_
#define VRAMSPAN_TOOLS_PROVE_ORIGINS_H_

#include <cstdint>

namespace vramspan::prove {

// In this order: where it may be one or the other, the last of them counts.
enum class Origin : uint8_t {
  kNumber,         // Immediates, special registers, and what is too narrow for an address.
  kOwnParameters,  // The window in which a kernel sees its parameters as memory.
  kWindow,         // What else the driver put before the parameters: other windows.
  kModule,         // Addresses of the module's own variables and functions.
  kParameter,
  // Made of the bits of those, or a product of one: perhaps an address, perhaps an offset.
  kDerived,
  // Made of those by scaling them: an offset, if it is added to an address, and none of its own.
  kScaled,
  // Made of what was loaded, by scaling it: an offset, if it is added to an address. It is none of
  // its own, so it counts more than a parameter where it may be either.
  kIndex,
  kMemory,  // Loaded, or not understood.
};

// Of the sum of two: an address, and an offset into what it is the address of.
inline Origin SumOf(Origin one, Origin other) {
  if (one > other) return SumOf(other, one);
  const bool base = one > Origin::kNumber && one <= Origin::kParameter;
  const bool offset =
      other == Origin::kDerived || other == Origin::kScaled || other == Origin::kIndex;
  // A masked distance may lead from the parameters to anywhere: no tensor map is trusted there.
  if (offset && one == Origin::kOwnParameters) return Origin::kWindow;
  return base && offset ? one : other;
}

// Of what is made of that by a product or a shift to the left: only numbers remain such.
inline Origin ScaledOf(Origin origin) {
  if (origin == Origin::kNumber) return Origin::kNumber;
  return origin <= Origin::kScaled ? Origin::kScaled : Origin::kIndex;
}

// Of what other bits are made of: an index that is shifted back may be what was loaded.
inline Origin BitsOf(Origin origin) {
  if (origin == Origin::kIndex) return Origin::kMemory;
  const bool stays =
      origin == Origin::kNumber || origin == Origin::kScaled || origin == Origin::kMemory;
  return stays ? origin : Origin::kDerived;
}

// Of a product of two that are not known. By a register that holds one it may be an address still.
inline Origin ProductOf(Origin one, Origin other) {
  if (one < other) return ProductOf(other, one);
  return one > Origin::kNumber && one < Origin::kDerived ? Origin::kDerived : one;
}

// Whether that made another of it.
inline bool JoinOne(Origin other, Origin* one) {
  if (other <= *one) return false;
  *one = other;
  return true;
}

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_ORIGINS_H_
