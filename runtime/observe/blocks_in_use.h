// Which blocks are handed out, for who asks with each launch: without a lock.
//
// Bounded: a block that finds no place counts as handed out to nobody.
//
// Threads: one changes it at a time; any asks.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_BLOCKS_IN_USE_H_
#define VRAMSPAN_RUNTIME_OBSERVE_BLOCKS_IN_USE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/base/mix.h"
#include "runtime/base/units.h"

namespace vramspan {

class BlocksInUse {
 public:
  // Tells a block from others; never 0.
  static uint64_t KeyOf(DevicePtr base, Bytes size) { return Mix(base.value, size.value) | 1; }

  void Add(uint64_t key) {
    for (size_t i = 0; i < kTries; ++i) {
      std::atomic<uint64_t>& place = places_[PlaceOf(key, i)];
      if (place.load(std::memory_order_relaxed) != 0) continue;
      place.store(key, std::memory_order_relaxed);
      return;
    }
  }
  void Remove(uint64_t key) {
    for (size_t i = 0; i < kTries; ++i) {
      std::atomic<uint64_t>& place = places_[PlaceOf(key, i)];
      if (place.load(std::memory_order_relaxed) == key) place.store(0, std::memory_order_relaxed);
    }
  }
  // Who was given its memory behind its return sees that: the program orders the two.
  bool Has(uint64_t key) const {
    for (size_t i = 0; i < kTries; ++i) {
      if (places_[PlaceOf(key, i)].load(std::memory_order_relaxed) == key) return true;
    }
    return false;
  }

 private:
  static constexpr size_t kPlaces = 1 << 15;
  static constexpr size_t kTries = 4;
  static size_t PlaceOf(uint64_t key, size_t i) { return ((key >> 32) + i) % kPlaces; }

  std::array<std::atomic<uint64_t>, kPlaces> places_{};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_BLOCKS_IN_USE_H_
