#include "tools/simcuda/cupti/counter_data.h"

#include <iterator>

namespace simcuda::cupti {
namespace {

constexpr std::string_view kNames[] = {
    "lts__t_sectors_aperture_sysmem_op_read.sum",
    "lts__t_sectors_aperture_sysmem_op_write.sum",
    "lts__t_sectors_aperture_device.sum",
};
static_assert(std::size(kNames) == kMetrics);

}  // namespace

int MetricOf(std::string_view name) {
  for (size_t i = 0; i < kMetrics; ++i) {
    if (kNames[i] == name) return static_cast<int>(i);
  }
  return -1;
}

CounterData* AsCounterData(uint8_t* image, size_t size) {
  auto* const data = reinterpret_cast<CounterData*>(image);
  const bool is = image != nullptr && size >= CounterData::SizeFor(0) &&
                  data->magic == CounterData::kMagic && data->count <= data->capacity &&
                  size >= CounterData::SizeFor(data->capacity);
  return is ? data : nullptr;
}

const CounterData* AsCounterData(const uint8_t* image, size_t size) {
  return AsCounterData(const_cast<uint8_t*>(image), size);
}

}  // namespace simcuda::cupti
