// The kernels of traced_bench beside the GEMMs.
#include <cstddef>
#include <cstdint>

#include "bench/workloads/traced_ids.h"
#include "tools/simcuda/grid_range.h"

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

// As many parameters as a product's by cuBLAS.
extern "C" __global__ void nothing_with_many(vramspan::bench::ManyParameters) {}
SIMCUDA_EXPORT(nothing_with_many);

// Pairs [first, first + count) of one endless sequence.
extern "C" __global__ void fill_pairs(ulonglong2* data, size_t count, size_t first) {
  for (const size_t i : GridRange(count)) {
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

// Targets of a power-law graph: every bit of a target's rank is 1 with a chance of a quarter.
extern "C" __global__ void graph_targets(uint32_t* targets, size_t count, unsigned scale) {
  for (const size_t i : GridRange(count)) {
    const unsigned long long bits = Mix(i + 0x9e3779b97f4a7c15ull);
    const uint32_t rank = static_cast<uint32_t>(bits) & static_cast<uint32_t>(bits >> 32);
    targets[i] = vramspan::bench::VertexOfRank(rank & ((1u << scale) - 1), scale);
  }
}
SIMCUDA_EXPORT(graph_targets);

// By one thread. Levels are all ones for vertices that nobody has seen.
extern "C" __global__ void search_start(uint32_t* levels, uint32_t* frontier, uint32_t source) {
  levels[source] = 0;
  frontier[0] = source;
}
SIMCUDA_EXPORT(search_start);

// Sees the neighbours of `size` vertices, `lanes` threads to each, and puts those that are new into
// the next frontier.
extern "C" __global__ void search_level(const unsigned long long* offsets, const uint32_t* targets,
                                        uint32_t* levels, const uint32_t* frontier, uint32_t size,
                                        uint32_t* next, uint32_t* next_size, uint32_t level,
                                        uint32_t lanes) {
  constexpr uint32_t kUnseen = 0xffffffffu;
  for (size_t i = First() / lanes; i < size; i += Step() / lanes) {
    const uint32_t vertex = frontier[i];
    const unsigned long long end = offsets[vertex + 1];
    for (unsigned long long e = offsets[vertex] + First() % lanes; e < end; e += lanes) {
      const uint32_t target = targets[e];
      if (levels[target] != kUnseen) continue;
      if (atomicCAS(&levels[target], kUnseen, level) == kUnseen) {
        next[atomicAdd(next_size, 1u)] = target;
      }
    }
  }
}
SIMCUDA_EXPORT(search_level);

// Adds to sums: a digest of all levels, the vertices that were seen, the edges that leave them.
extern "C" __global__ void search_digest(const unsigned long long* offsets, const uint32_t* levels,
                                         size_t vertices, unsigned long long* sums) {
  unsigned long long digest = 0;
  unsigned long long seen = 0;
  unsigned long long edges = 0;
  for (const size_t v : GridRange(vertices)) {
    digest += Mix(v * 64 + levels[v]);
    if (levels[v] == 0xffffffffu) continue;
    ++seen;
    edges += offsets[v + 1] - offsets[v];
  }
  atomicAdd(&sums[0], digest);
  atomicAdd(&sums[1], seen);
  atomicAdd(&sums[2], edges);
}
SIMCUDA_EXPORT(search_digest);
