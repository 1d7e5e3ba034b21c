// Which places of a block may hold an address of the arenas in one of the forms of
// encoded_addresses.h, or a negative distance, told for sixteen places at a time. What it lets
// through is looked at in full; what it holds back is none of them.
//
// All forms of an address but shifted ones leave bits 32 to 47 where they are, so these must be
// those of an arena's addresses. Of shifted ones the upper half must be small enough. Arenas so low
// or high that this says nothing: it lets all through.
//
// Pure. Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_ADDRESS_SIEVE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_ADDRESS_SIEVE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/observe/arenas.h"

namespace vramspan {

class AddressSieve {
 public:
  // Places that are looked at together; the first is a multiple of it.
  static constexpr size_t kPlaces = 16;
  // Bytes from the first that are read, or belong to a place.
  static constexpr size_t kReads = kPlaces + 7;

  // What a place may hold: an address where it is in an address, one that is shifted, or a
  // distance.
  static constexpr uint64_t kAddress = 1, kShifted = 2, kDistance = 4;
  // That is told by a byte for each place, the first comes first, in so many words.
  static constexpr size_t kFound = kPlaces / sizeof(uint64_t);

  // `in_front`: how far in front of an arena an address may be.
  AddressSieve(const ArenaSet& arenas, Bytes in_front, int least_shift, int most_shift)
      : upper_(0, 0xffff), shifted_(0, 0xffffffff) {
    const uint64_t low = arenas.low(), high = low + arenas.span() - 1;
    if (low < in_front.value || high < low || high >> 48 != 0) return;
    upper_ = HalvesIn((low - in_front.value) >> 32, high >> 32);
    shifted_ = WordsIn(low >> most_shift >> 32, high >> least_shift >> 32);
  }

  // Of the places from there on, `count` times so many.
  void Look(const char* from, size_t count, uint64_t* found) const {
    // The upper half of a number from -2^47 on that is negative.
    const WordsIn negative(0xffff8000, 0xffffffff);
    for (size_t i = 0; i < count; ++i, from += kPlaces, found += kFound) {
      // At even places, and at odd ones.
      const auto even = Read<Halves>(from + 4), odd = Read<Halves>(from + 5);
      const auto words = Read<Words>(from + 4);
      const Pair all = (upper_.Of(even) & Both(0x0001'0001'0001'0001 * kAddress)) |
                       (upper_.Of(odd) & Both(0x0100'0100'0100'0100 * kAddress)) |
                       (shifted_.Of(words) & Both(0x0000'0001'0000'0001 * kShifted)) |
                       (negative.Of(words) & Both(kDistance));
      std::memcpy(found, &all, sizeof(all));
    }
  }

 private:
  template <typename T>
  struct VectorOf {
    using Type __attribute__((vector_size(16))) = T;
  };
  using Halves = VectorOf<uint16_t>::Type;
  using Words = VectorOf<uint32_t>::Type;
  using Pair = VectorOf<uint64_t>::Type;

  template <typename Vector>
  static Vector Read(const char* from) {
    Vector read;
    std::memcpy(&read, from, sizeof(read));
    return read;
  }
  static constexpr Pair Both(uint64_t value) { return Pair{value, value}; }

  // Of each lane: whether it is one of these.
  class HalvesIn {
   public:
    HalvesIn(uint64_t first, uint64_t last)
        : first_(static_cast<uint16_t>(first)), width_(static_cast<uint16_t>(last - first)) {}
    Pair Of(Halves lanes) const {
      return reinterpret_cast<Pair>(static_cast<Halves>(lanes - first_) <= (Halves{} + width_));
    }

   private:
    uint16_t first_, width_;
  };
  // Compared as signed numbers, which every machine has an instruction for.
  class WordsIn {
   public:
    constexpr WordsIn(uint64_t first, uint64_t last)
        : first_(static_cast<uint32_t>(first) + kLeast),
          most_(static_cast<int32_t>(static_cast<uint32_t>(last - first) + kLeast)) {}
    Pair Of(Words lanes) const {
      return ~reinterpret_cast<Pair>(reinterpret_cast<Signed>(lanes - first_) > (Signed{} + most_));
    }

   private:
    using Signed = VectorOf<int32_t>::Type;
    static constexpr uint32_t kLeast = uint32_t{1} << 31;
    uint32_t first_;
    int32_t most_;
  };

  HalvesIn upper_;   // Bits 32 to 47 of an address.
  WordsIn shifted_;  // The upper half of one that is shifted.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_ADDRESS_SIEVE_H_
