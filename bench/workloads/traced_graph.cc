#include "bench/workloads/traced_graph.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "bench/workloads/traced_ids.h"
#include "tools/simcuda/kernel_images.h"

SIMCUDA_DECLARE_KERNELS(traced_kernels);

namespace vramspan::bench {
namespace {

constexpr uint32_t kMostLevels = 256;
constexpr size_t kSumsAt = kMostLevels * sizeof(uint32_t);
constexpr size_t kSums = 3;
// A frontier of fewer vertices gets many threads to each: one of them may have most of the edges.
constexpr uint32_t kFew = 4096;
constexpr uint32_t kManyLanes = 4096;
constexpr uint32_t kLanes = 32;
constexpr size_t kAlign = 256;

size_t Aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

Graph::Graph(Machine& machine, CUstream stream, size_t bytes, bool small)
    : machine_(machine),
      stream_(stream),
      blocks_(small ? 32 : 1056),
      threads_(small ? 128 : 256),
      counters_(machine.Allocate(kSumsAt + kSums * sizeof(uint64_t))),
      frontier_size_(static_cast<uint32_t*>(machine.AllocateHost(sizeof(uint32_t)))) {
  const CUmodule module = machine.LoadModule(traced_kernels_images());
  targets_ = machine.Function(module, "graph_targets");
  start_ = machine.Function(module, "search_start");
  level_ = machine.Function(module, "search_level");
  digest_ = machine.Function(module, "search_digest");
  // Twenty bytes a vertex, four an edge: at least sixteen edges to a vertex.
  while ((size_t{84} << (scale_ + 1)) <= bytes) ++scale_;
  if (scale_ < 10 || scale_ > 31) throw std::invalid_argument("no graph of this size is made");
  MakeOffsets((bytes - 20 * vertices()) / sizeof(uint32_t));
}

void Graph::MakeOffsets(uint64_t edges) {
  std::vector<double> degree_of_bits(scale_ + 1);
  for (unsigned bits = 0; bits <= scale_; ++bits) {
    degree_of_bits[bits] =
        static_cast<double>(edges) * std::pow(0.75, scale_ - bits) * std::pow(0.25, bits);
  }
  offsets_.assign(vertices() + 1, 0);
  for (uint32_t rank = 0; rank < vertices(); ++rank) {
    const double degree = degree_of_bits[static_cast<size_t>(__builtin_popcount(rank))];
    // The fraction becomes an edge of as many of the vertices, evenly.
    const double whole = std::floor(degree);
    const double dice = static_cast<double>(rank * 0x9e3779b1u) / 4294967296.0;
    offsets_[VertexOfRank(rank, scale_) + size_t{1}] =
        static_cast<uint64_t>(whole) + (dice < degree - whole ? 1 : 0);
  }
  for (size_t v = 0; v < vertices(); ++v) {
    offsets_[v + 1] = std::min(edges, offsets_[v + 1] + offsets_[v]);
  }
}

size_t Graph::bytes() const {
  return Aligned(offsets_bytes()) + Aligned(targets_bytes()) + 3 * Aligned(vertices_bytes());
}

GraphMemory Graph::LayOut(CUdeviceptr block) const {
  GraphMemory memory;
  memory.offsets = block;
  memory.targets = memory.offsets + Aligned(offsets_bytes());
  memory.levels = memory.targets + Aligned(targets_bytes());
  memory.frontiers[0] = memory.levels + Aligned(vertices_bytes());
  memory.frontiers[1] = memory.frontiers[0] + Aligned(vertices_bytes());
  return memory;
}

void Graph::Generate(const GraphMemory& memory) const {
  machine_.Check(
      machine_.api().MemcpyHtoDAsync(memory.offsets, offsets_.data(), offsets_bytes(), stream_),
      "cuMemcpyHtoDAsync");
  CUdeviceptr targets = memory.targets;
  size_t count = edges();
  unsigned scale = scale_;
  machine_.Launch(targets_, blocks_, threads_, stream_, {&targets, &count, &scale});
  machine_.Synchronize(stream_);
}

void Graph::Copy(const GraphMemory& from, const GraphMemory& to) const {
  const DriverApi& cu = machine_.api();
  machine_.Check(cu.MemcpyAsync(to.offsets, from.offsets, offsets_bytes(), stream_),
                 "cuMemcpyAsync");
  machine_.Check(cu.MemcpyAsync(to.targets, from.targets, targets_bytes(), stream_),
                 "cuMemcpyAsync");
  machine_.Synchronize(stream_);
}

uint32_t Graph::Source(uint32_t n) const { return VertexOfRank(n, scale_); }

SearchResult Graph::Search(const GraphMemory& memory, uint32_t source) const {
  const DriverApi& cu = machine_.api();
  GraphMemory m = memory;
  SearchResult result;
  machine_.Synchronize(stream_);
  const auto start = std::chrono::steady_clock::now();
  machine_.Check(cu.MemsetD8Async(m.levels, 0xff, vertices_bytes(), stream_), "cuMemsetD8Async");
  machine_.Check(cu.MemsetD8Async(counters_, 0, kSumsAt + kSums * sizeof(uint64_t), stream_),
                 "cuMemsetD8Async");
  machine_.Launch(start_, 1, 1, stream_, {&m.levels, &m.frontiers[0], &source});
  uint32_t size = 1;
  while (size > 0) {
    if (++result.levels == kMostLevels) throw std::runtime_error("the search does not end");
    uint32_t level = result.levels;
    uint32_t lanes = size < kFew ? std::min<uint32_t>(kManyLanes, threads_ * 8) : kLanes;
    CUdeviceptr frontier = m.frontiers[(level - 1) % 2];
    CUdeviceptr next = m.frontiers[level % 2];
    CUdeviceptr next_size = counters_ + level * sizeof(uint32_t);
    machine_.Launch(
        level_, blocks_, threads_, stream_,
        {&m.offsets, &m.targets, &m.levels, &frontier, &size, &next, &next_size, &level, &lanes});
    machine_.Check(cu.MemcpyDtoHAsync(frontier_size_, next_size, sizeof(uint32_t), stream_),
                   "cuMemcpyDtoHAsync");
    machine_.Synchronize(stream_);
    size = *frontier_size_;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  size_t count = vertices();
  CUdeviceptr sums = counters_ + kSumsAt;
  machine_.Launch(digest_, blocks_, threads_, stream_, {&m.offsets, &m.levels, &count, &sums});
  uint64_t words[kSums] = {};
  machine_.Check(cu.MemcpyDtoHAsync(words, sums, sizeof(words), stream_), "cuMemcpyDtoHAsync");
  machine_.Synchronize(stream_);
  result.digest = words[0];
  result.seen = words[1];
  result.edges = words[2];
  return result;
}

bool Graph::Agrees(const GraphMemory& memory, uint32_t source) const {
  const DriverApi& cu = machine_.api();
  std::vector<uint32_t> targets(edges());
  std::vector<uint32_t> found(vertices());
  machine_.Check(cu.MemcpyDtoHAsync(targets.data(), memory.targets, targets_bytes(), stream_),
                 "cuMemcpyDtoHAsync");
  machine_.Check(cu.MemcpyDtoHAsync(found.data(), memory.levels, vertices_bytes(), stream_),
                 "cuMemcpyDtoHAsync");
  machine_.Synchronize(stream_);
  std::vector<uint32_t> levels(vertices(), ~uint32_t{0});
  std::vector<uint32_t> queue = {source};
  levels[source] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t v = queue[i];
    for (uint64_t e = offsets_[v]; e < offsets_[v + size_t{1}]; ++e) {
      uint32_t& level = levels[targets[e]];
      if (level != ~uint32_t{0}) continue;
      level = levels[v] + 1;
      queue.push_back(targets[e]);
    }
  }
  return levels == found;
}

}  // namespace vramspan::bench
