// What the kernels of traced_bench share with the program: where the vertices of a generated graph
// are, and a large block of parameters.
#ifndef VRAMSPAN_BENCH_WORKLOADS_TRACED_IDS_H_
#define VRAMSPAN_BENCH_WORKLOADS_TRACED_IDS_H_

#include <cstdint>

#ifdef __CUDACC__
#define VRAMSPAN_BENCH_BOTH __host__ __device__
#else
#define VRAMSPAN_BENCH_BOTH
#endif

namespace vramspan::bench {

// The vertex of a rank among 2^scale: ranks with few bits set have the most edges, and are strewn
// over all vertices. One to one: an odd factor between two folds that undo themselves.
VRAMSPAN_BENCH_BOTH inline uint32_t VertexOfRank(uint32_t rank, unsigned scale) {
  const uint32_t mask = (uint32_t{1} << scale) - 1;
  const unsigned half = (scale + 1) / 2;
  uint32_t x = rank ^ (rank >> half);
  x = (x + 0x51edu) * 0x9e3779b1u & mask;
  return x ^ (x >> half);
}

// As large as the block of a product by cuBLAS, and with as many pointers.
struct ManyParameters {
  const void* pointers[9];
  uint32_t numbers[400];
};

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_TRACED_IDS_H_
