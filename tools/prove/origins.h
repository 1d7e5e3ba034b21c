// Where what a register holds comes from. Only of the upper half of an address does that matter: it
// is what tells one allocation from another.
#ifndef VRAMSPAN_TOOLS_PROVE_ORIGINS_H_
#define VRAMSPAN_TOOLS_PROVE_ORIGINS_H_

#include <cstdint>

namespace vramspan::prove {

// In this order: where it may be one or the other, the last of them counts (EitherOf).
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
  // its own, so it counts more than a parameter where it may be either. This and the next one are
  // followed by themselves with the number of times that it was scaled.
  kIndex = 8,
  kMemory = 16,  // Loaded, or not understood.
};

// Scaled more often it may be an address that is put together: "p = p << 8 | byte", in a loop.
inline constexpr uint8_t kMostTimesScaled = 3, kTimesScaled = 7;

constexpr uint8_t TimesScaled(Origin origin) {
  return origin < Origin::kIndex ? 0 : static_cast<uint8_t>(origin) & kTimesScaled;
}

// Of that kind, scaled so many times.
constexpr Origin Scaled(Origin kind, uint8_t times) {
  const uint8_t most = kMostTimesScaled + 1;
  return static_cast<Origin>(static_cast<uint8_t>(kind) | (times < most ? times : most));
}

constexpr Origin KindOf(Origin origin) {
  return origin < Origin::kIndex
             ? origin
             : static_cast<Origin>(static_cast<uint8_t>(origin) & ~kTimesScaled);
}

// Of what may be one or the other.
constexpr Origin EitherOf(Origin one, Origin other) {
  if (one < other) return EitherOf(other, one);
  if (one < Origin::kIndex || TimesScaled(one) >= TimesScaled(other)) return one;
  return Scaled(KindOf(one), TimesScaled(other));
}

// Of the sum of two: an address, and an offset into what it is the address of.
inline Origin SumOf(Origin one, Origin other) {
  if (one > other) return SumOf(other, one);
  const bool base = one > Origin::kNumber && one <= Origin::kParameter;
  const bool index = KindOf(other) == Origin::kIndex && TimesScaled(other) <= kMostTimesScaled;
  const bool offset = other == Origin::kDerived || other == Origin::kScaled || index;
  // A masked distance may lead from the parameters to anywhere: no tensor map is trusted there.
  if (offset && one == Origin::kOwnParameters) return Origin::kWindow;
  return base && offset ? one : EitherOf(one, other);
}

// Of its product with what is not known.
inline Origin OffsetOf(Origin origin) {
  if (origin == Origin::kNumber) return Origin::kNumber;
  return origin <= Origin::kScaled ? Origin::kScaled : Scaled(Origin::kIndex, TimesScaled(origin));
}

// Of its product with a small number, or a shift to the left: only numbers remain such.
inline Origin ScaledOf(Origin origin) {
  const Origin offset = OffsetOf(origin);
  return offset < Origin::kIndex ? offset : Scaled(Origin::kIndex, TimesScaled(offset) + 1);
}

// Of what comes from a lower half into an upper one where the pair is scaled: few of its bits.
inline Origin CarriedOf(Origin lower) { return ScaledOf(KindOf(lower)); }

// Of what other bits are made of: an index that is shifted back may be what was loaded.
inline Origin BitsOf(Origin origin) {
  if (origin >= Origin::kIndex) return Scaled(Origin::kMemory, TimesScaled(origin));
  const bool stays = origin == Origin::kNumber || origin == Origin::kScaled;
  return stays ? origin : Origin::kDerived;
}

// Of a product of two that are not known. By a register that holds one it may be an address still.
inline Origin ProductOf(Origin one, Origin other) {
  const Origin either = EitherOf(one, other);
  return either > Origin::kNumber && either < Origin::kDerived ? Origin::kDerived : either;
}

// Whether that made another of it.
inline bool JoinOne(Origin other, Origin* one) {
  const Origin both = EitherOf(*one, other);
  if (both == *one) return false;
  *one = both;
  return true;
}

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_ORIGINS_H_
