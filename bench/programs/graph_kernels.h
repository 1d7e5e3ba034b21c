// The kernels of graph.cu. A graph is offsets[pages + 1] and the edges that they part: those of a
// page, a warp goes over them.
#ifndef VRAMSPAN_BENCH_PROGRAMS_GRAPH_KERNELS_H_
#define VRAMSPAN_BENCH_PROGRAMS_GRAPH_KERNELS_H_

#include "program.h"

struct Graph {
  const uint64_t* offsets;
  const uint32_t* edges;
  size_t pages;
};

__device__ inline size_t FirstPage() { return First() / 32; }
__device__ inline size_t PageStep() { return Step() / 32; }
__device__ inline unsigned Lane() { return threadIdx.x % 32; }

// Some 31 edges a page on average; few pages have many, at most 65,536.
__global__ void Degrees(uint64_t* degrees, size_t pages) {
  for (size_t i = First(); i <= pages; i += Step()) {
    const double share = static_cast<double>((Mix(i) >> 40) + 1) / (1 << 24);
    degrees[i] = i < pages ? static_cast<uint64_t>(16 / sqrt(share)) : 0;
  }
}

// Half of the edges go to one of the next pages, as those of one site do. The others go anywhere,
// with a chance that falls with a page's rank to the power of 3/4. Ranks are strewn over all.
__global__ void Connect(const uint64_t* offsets, uint32_t* edges, size_t pages) {
  for (size_t page = FirstPage(); page < pages; page += PageStep()) {
    for (uint64_t i = offsets[page] + Lane(); i < offsets[page + 1]; i += 32) {
      const uint64_t hash = Mix(~i);
      const double share = static_cast<double>(hash >> 24) / (uint64_t{1} << 40);
      const auto rank = static_cast<uint64_t>(share * share * share * share * pages);
      const uint64_t to = hash % 2 ? page + 1 + hash / 2 % 256 : Mix(rank);
      edges[i] = static_cast<uint32_t>(to % pages);
    }
  }
}

// A level of a breadth-first search. Threads that reach a page at once write the same.
__global__ void Visit(Graph g, int* levels, int level, int* more) {
  for (size_t page = FirstPage(); page < g.pages; page += PageStep()) {
    if (levels[page] != level) continue;
    for (uint64_t i = g.offsets[page] + Lane(); i < g.offsets[page + 1]; i += 32) {
      int* const to = levels + g.edges[i];
      if (*to >= 0) continue;
      *to = level + 1;
      *more = 1;
    }
  }
}

// No edge may pass over a level: then no level is too high. Marks what an edge leads to from the
// level before: if that is every page but the first, no level is too low.
__global__ void CheckEdges(Graph g, const int* levels, uint8_t* led_to, unsigned long long* wrong) {
  for (size_t page = FirstPage(); page < g.pages; page += PageStep()) {
    if (levels[page] < 0) continue;
    for (uint64_t i = g.offsets[page] + Lane(); i < g.offsets[page + 1]; i += 32) {
      const int to = levels[g.edges[i]];
      if (to < 0 || to > levels[page] + 1) atomicAdd(wrong, 1);
      if (to == levels[page] + 1) led_to[g.edges[i]] = 1;
    }
  }
}
__global__ void CheckPages(Graph g, const int* levels, const uint8_t* led_to,
                           unsigned long long* wrong, unsigned long long* edges) {
  unsigned long long mine = 0;
  for (size_t i = First(); i < g.pages; i += Step()) {
    if ((levels[i] == 0) != (i == 0) || (levels[i] > 0 && !led_to[i])) atomicAdd(wrong, 1);
    if (levels[i] >= 0) mine += g.offsets[i + 1] - g.offsets[i];
  }
  atomicAdd(edges, mine);
}

// For page ranks an edge of a page says who links to it. `links` counts how many a page links to.
__global__ void Count(Graph g, unsigned* links) {
  for (size_t i = First(); i < g.offsets[g.pages]; i += Step()) atomicAdd(links + g.edges[i], 1);
}
__global__ void Begin(const unsigned* links, float* given, size_t pages) {
  for (size_t i = First(); i < pages; i += Step()) given[i] = links[i] > 0 ? 1.0f / links[i] : 0;
}
__global__ void Rank(Graph g, const float* given, float* ranks) {
  for (size_t page = FirstPage(); page < g.pages; page += PageStep()) {
    float sum = 0;
    for (uint64_t i = g.offsets[page] + Lane(); i < g.offsets[page + 1]; i += 32)
      sum += given[g.edges[i]];
    for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
    if (Lane() == 0) ranks[page] = 0.15f + 0.85f * sum;
  }
}
// What a page gives to each that it links to.
__global__ void Give(const float* ranks, const unsigned* links, float* given, size_t pages) {
  for (size_t i = First(); i < pages; i += Step())
    given[i] = links[i] > 0 ? ranks[i] / links[i] : 0;
}

// Every 64th page computed again, by one thread in double precision; and sums of what is given and
// of what arrives, which must agree.
__global__ void CheckRanks(Graph g, const float* given, const float* ranks, const unsigned* links,
                           unsigned long long* wrong, double* sums) {
  double leaves = 0, arrives = 0;
  for (size_t page = First(); page < g.pages; page += Step()) {
    leaves += static_cast<double>(given[page]) * links[page];
    arrives += ranks[page];
    if (page % 64 != 0) continue;
    double sum = 0;
    for (uint64_t i = g.offsets[page]; i < g.offsets[page + 1]; ++i) sum += given[g.edges[i]];
    const double expected = 0.15 + 0.85 * sum;
    if (!(fabs(ranks[page] - expected) <= 1e-4 * expected)) atomicAdd(wrong, 1);
  }
  atomicAdd(sums, leaves);
  atomicAdd(sums + 1, arrives);
}

#endif  // VRAMSPAN_BENCH_PROGRAMS_GRAPH_KERNELS_H_
