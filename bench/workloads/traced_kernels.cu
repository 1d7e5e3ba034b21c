// The kernels of traced_bench beside the GEMMs.
#include <cstddef>
#include <cstdint>

namespace {

__device__ inline size_t First() { return size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline size_t Step() { return size_t{gridDim.x} * blockDim.x; }

__device__ inline unsigned long long Mix(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// What a pair of words adds to a sum depends on its place, so that swapped memory shows.
__device__ inline unsigned long long Weigh(ulonglong2 pair, size_t place) {
  return pair.x * (4 * place + 1) + pair.y * (4 * place + 3);
}

}  // namespace

extern "C" __global__ void nothing_with(const void*) {}
SIMCUDA_EXPORT(nothing_with);

// Pairs [first, first + count) of one endless sequence.
extern "C" __global__ void fill_pairs(ulonglong2* data, size_t count, size_t first) {
  for (size_t i = First(); i < count; i += Step()) {
    const unsigned long long place = 2 * (first + i) + 1;
    data[i] = make_ulonglong2(Mix(place), Mix(place + 1));
  }
}
SIMCUDA_EXPORT(fill_pairs);

// Reads the pairs `times` times over. Every thread has a sum of its own; their total does not
// depend on how a sequence was cut into launches.
extern "C" __global__ void read_pairs(const ulonglong2* data, size_t count, size_t first,
                                      unsigned times, unsigned long long* sums) {
  const size_t step = Step();
  unsigned long long sum = 0;
  for (unsigned r = 0; r < times; ++r) {
    const size_t place = first + r;
    size_t i = First();
    for (; i + 3 * step < count; i += 4 * step) {
      const ulonglong2 a = data[i];
      const ulonglong2 b = data[i + step];
      const ulonglong2 c = data[i + 2 * step];
      const ulonglong2 d = data[i + 3 * step];
      sum += Weigh(a, place + i) + Weigh(b, place + i + step) + Weigh(c, place + i + 2 * step) +
             Weigh(d, place + i + 3 * step);
    }
    for (; i < count; i += step) sum += Weigh(data[i], place + i);
  }
  sums[First()] += sum;
}
SIMCUDA_EXPORT(read_pairs);
