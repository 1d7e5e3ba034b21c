#ifndef VRAMSPAN_TOOLS_SIMCUDA_CUPTI_COUNTER_DATA_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CUPTI_COUNTER_DATA_H_

// The images that the profiler's functions hand to and fro: which metrics (the configuration), and
// what was counted (counter data). The caller owns their memory; everything is in them.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace simcuda::cupti {

// The metrics there are; -1 for any other name.
inline constexpr size_t kMetrics = 3;
int MetricOf(std::string_view name);

struct ConfigImage {
  static constexpr uint64_t kMagic = 0x676966636d6973;

  uint64_t magic;
  uint64_t metrics;  // How many; they need one pass.
};

struct CountedRange {
  char name[56];
  double values[kMetrics];
};

struct CounterData {
  static constexpr uint64_t kMagic = 0x617461646d6973;

  uint64_t magic;
  uint64_t capacity;
  uint64_t count;
  CountedRange ranges[1];  // `capacity` of them.

  static size_t SizeFor(size_t capacity) {
    return offsetof(CounterData, ranges) + capacity * sizeof(CountedRange);
  }
};

// Null where the bytes are no such image.
CounterData* AsCounterData(uint8_t* image, size_t size);
const CounterData* AsCounterData(const uint8_t* image, size_t size);

}  // namespace simcuda::cupti

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CUPTI_COUNTER_DATA_H_
