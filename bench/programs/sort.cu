// Radix sorts of pairs by CUB: keys and values in two buffers each, which change places in each of
// four passes. A lap makes the pairs and sorts them; 8 GiB by default.
//
// nvcc -O2 -arch=native -o sort sort.cu && ./sort [--gib G] [--laps N] [--limit G]
#include <cmath>
#include <cub/device/device_radix_sort.cuh>

#include "program.h"

__host__ __device__ inline uint32_t Key(uint32_t value) {
  return static_cast<uint32_t>(Mix(value) >> 32);
}

__global__ void Fill(uint32_t* keys, uint32_t* values, size_t count) {
  for (size_t i = First(); i < count; i += Step()) {
    keys[i] = Key(static_cast<uint32_t>(i));
    values[i] = static_cast<uint32_t>(i);
  }
}

// Keys must be those of their values. The pairs must rise, and by values among equal keys, for the
// sort is stable. So no value comes twice, and none is missing.
__global__ void Check(const uint32_t* keys, const uint32_t* values, size_t count,
                      unsigned long long* wrong) {
  for (size_t i = First(); i < count; i += Step()) {
    bool right = values[i] < count && keys[i] == Key(values[i]);
    if (i + 1 < count)
      right &= keys[i] < keys[i + 1] || (keys[i] == keys[i + 1] && values[i] < values[i + 1]);
    if (!right) atomicAdd(wrong, 1);
  }
}

// What must cross, where CUB sorts in four passes of eight bits, as is assumed of it here: each
// pass reads one half of S bytes and writes the other. Two passes read and write each byte once. As
// in stencil.cu, S - B then cross each way.
double Bound(const Options& options, double bytes) {
  return 2 * options.Beyond(bytes) / options.link.both * 1e3;
}

int main(int argc, char** argv) {
  const Options options(argc, argv, 8, 5);
  const auto count =
      std::min(static_cast<size_t>(std::ceil(options.Bytes() / 16)), size_t{1} << 32);
  cub::DoubleBuffer<uint32_t> keys(Allocate<uint32_t>(count), Allocate<uint32_t>(count));
  cub::DoubleBuffer<uint32_t> values(Allocate<uint32_t>(count), Allocate<uint32_t>(count));
  const auto pairs = static_cast<double>(allocated_bytes);
  size_t temporary_bytes = 0;
  OK(cub::DeviceRadixSort::SortPairs(nullptr, temporary_bytes, keys, values, count));
  char* temporary = Allocate<char>(temporary_bytes);
  const size_t peak = allocated_bytes;

  const std::vector<double> times = Repeated(
      [&] {
        Fill<<<2048, 256>>>(keys.Current(), values.Current(), count);
        OK(cub::DeviceRadixSort::SortPairs(temporary, temporary_bytes, keys, values, count));
      },
      options.laps);

  unsigned long long *device_wrong = Allocate<unsigned long long>(1), wrong = 0;
  OK(cudaMemset(device_wrong, 0, sizeof wrong));
  Check<<<2048, 256>>>(keys.Current(), values.Current(), count, device_wrong);
  OK(cudaMemcpy(&wrong, device_wrong, sizeof wrong, cudaMemcpyDeviceToHost));
  const uint64_t digest =
      Digest(keys.Current(), count * 4) ^ Mix(Digest(values.Current(), count * 4));
  return Report(options, digest, wrong == 0, peak, OfLaps(options, times, Bound(options, pairs)));
}
