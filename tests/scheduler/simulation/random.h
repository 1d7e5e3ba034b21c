// Random numbers that are the same on every machine: splitmix64.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_RANDOM_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_RANDOM_H_

#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan::simulation {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Below `n`. REQUIRES: n is not 0.
  uint32_t Below(uint32_t n) {
    return static_cast<uint32_t>(((Next() >> 32) * static_cast<uint64_t>(n)) >> 32);
  }
  // From `low` to `high`, both among them.
  uint32_t Between(uint32_t low, uint32_t high) { return low + Below(high - low + 1); }
  Duration Between(Duration low, Duration high) {
    const auto range = static_cast<uint64_t>((high - low).count()) + 1;
    return low + Duration(static_cast<int64_t>(Next() % range));
  }
  // So many times of 1,000.
  bool Chance(uint32_t of_thousand) { return Below(1000) < of_thousand; }

 private:
  uint64_t state_;
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_RANDOM_H_
