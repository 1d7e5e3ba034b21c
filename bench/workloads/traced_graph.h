// A power-law graph of a given size, always the same, and searches of its breadth in memory of any
// kind. In-degrees and out-degrees follow those of an R-MAT graph whose initiator has rank one
// (a = 9/16, b = c = 3/16, d = 1/16): the degree of a vertex falls by a factor of three with every
// bit of its rank.
//
// Threads: one. All work goes to one stream.
#ifndef VRAMSPAN_BENCH_WORKLOADS_TRACED_GRAPH_H_
#define VRAMSPAN_BENCH_WORKLOADS_TRACED_GRAPH_H_

#include <cstdint>
#include <vector>

#include "bench/workloads/machine.h"

namespace vramspan::bench {

// Where the arrays of a search lie.
struct GraphMemory {
  CUdeviceptr offsets = 0;  // uint64, of the vertices and one more
  CUdeviceptr targets = 0;  // uint32, of the edges
  CUdeviceptr levels = 0;   // uint32, of the vertices, and the same for both frontiers
  CUdeviceptr frontiers[2] = {0, 0};
};

struct SearchResult {
  double seconds = 0;  // Wall clock; the host reads the size of every frontier.
  uint32_t levels = 0;
  uint64_t digest = 0, seen = 0, edges = 0;  // Edges: that leave what was seen.

  bool Same(const SearchResult& o) const {
    return levels == o.levels && digest == o.digest && seen == o.seen && edges == o.edges;
  }
};

class Graph {
 public:
  // `bytes`: of all arrays together, nearly.
  Graph(Machine& machine, CUstream stream, size_t bytes, bool small);

  unsigned scale() const { return scale_; }  // 2^scale vertices.
  size_t vertices() const { return size_t{1} << scale_; }
  size_t edges() const { return offsets_.back(); }
  size_t offsets_bytes() const { return offsets_.size() * sizeof(uint64_t); }
  size_t targets_bytes() const { return edges() * sizeof(uint32_t); }
  size_t vertices_bytes() const { return vertices() * sizeof(uint32_t); }  // Of one uint32 each.

  // The arrays, one behind the other, in one block of bytes() at `block`.
  GraphMemory LayOut(CUdeviceptr block) const;
  size_t bytes() const;
  // Makes offsets and targets in plain memory. Waits.
  void Generate(const GraphMemory& memory) const;
  // Copies those of another place. Waits.
  void Copy(const GraphMemory& from, const GraphMemory& to) const;

  // The n-th source: those with the most edges first.
  uint32_t Source(uint32_t n) const;
  SearchResult Search(const GraphMemory& memory, uint32_t source) const;
  // True if the levels that the last search left agree with a search by the CPU.
  bool Agrees(const GraphMemory& memory, uint32_t source) const;

 private:
  void MakeOffsets(uint64_t edges);

  Machine& machine_;
  const CUstream stream_;
  const size_t blocks_;
  const unsigned threads_;
  unsigned scale_ = 0;
  std::vector<uint64_t> offsets_;
  CUfunction targets_, start_, level_, digest_;
  CUdeviceptr counters_;     // The size of each frontier, then the sums of the digest.
  uint32_t* frontier_size_;  // Pinned.
};

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_TRACED_GRAPH_H_
