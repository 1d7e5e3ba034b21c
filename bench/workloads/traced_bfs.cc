// Breadth-first searches of a power-law graph (traced_workloads.h).
#include <absl/strings/str_format.h>

#include <algorithm>
#include <numeric>

#include "bench/workloads/traced_graph.h"
#include "bench/workloads/traced_workloads.h"

namespace vramspan::bench {
namespace {

// A graph of so many vertices is searched by the CPU as well.
constexpr size_t kMostForCpu = size_t{1} << 20;

class Searches {
 public:
  explicit Searches(Bench& bench)
      : bench_(bench),
        graph_(bench.machine, bench.passes.stream(), 2 * bench.settings.graph_budget,
               bench.settings.small),
        what_(absl::StrFormat("2^%d in %.1fGB", graph_.scale(),
                              static_cast<double>(bench.settings.graph_budget) / 1e9)),
        device_(graph_.LayOut(bench.memory.Device(graph_.bytes()))) {
    graph_.Generate(device_);
  }

  void Measure() {
    Row resident = NewRow(kResident);
    Search(device_, kWarmUp + kMeasured, kWarmUp, &resident);
    if (graph_.vertices() <= kMostForCpu) {
      resident.right &= graph_.Agrees(device_, graph_.Source(kWarmUp + kMeasured - 1));
    }
    Finish(std::move(resident));

    const GraphMemory host = graph_.LayOut(bench_.memory.Host(graph_.bytes()));
    graph_.Copy(device_, host);
    Row in_host = NewRow(kHost);
    Search(host, 2, 0, &in_host);  // Nothing settles, and it takes long.
    Finish(std::move(in_host));
    for (const std::string& overlap : bench_.settings.overlaps) Traced(overlap);
  }

 private:
  static constexpr int kWarmUp = 1;
  static constexpr int kMeasured = 3;

  Row NewRow(const std::string& way) const {
    return {.workload = "bfs", .what = what_, .way = way};
  }

  // From one source after the other; a search that ends behind the limit of time is the last, once
  // one was measured.
  void Search(const GraphMemory& memory, int searches, int warm_up, Row* row) {
    std::vector<double> seconds;
    double all = 0;
    for (int i = 0; i < searches; ++i) {
      if (i > warm_up && all > bench_.settings.limit) break;
      const auto n = static_cast<uint32_t>(i);
      const SearchResult result = graph_.Search(memory, graph_.Source(n));
      if (truth_.size() == n) truth_.push_back(result);
      row->right &= result.Same(truth_[n]);
      all += result.seconds;
      ++row->timing.passes;
      if (i >= warm_up) seconds.push_back(result.seconds);
    }
    row->timing.median = Median(seconds);
    row->timing.mean =
        std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    row->timing.whole = all / row->timing.passes;
  }

  void Finish(Row row) {
    const Row* const resident = bench_.report.Find(row, kResident);
    // All levels are written, and what was seen has its edges read, at least once.
    const uint64_t touched = truth_.back().edges * sizeof(uint32_t) + graph_.vertices_bytes();
    const uint64_t budget = bench_.settings.graph_budget;
    row.bound = bench_.Bound((resident == nullptr ? row : *resident).timing.median,
                             static_cast<double>(touched - std::min(touched, budget)));
    bench_.report.Add(std::move(row));
  }

  void Traced(const std::string& overlap) {
    const Runtime runtime = MakeRuntime(bench_.machine, bench_.settings.graph_budget,
                                        bench_.settings.chunk, bench_.settings.policy, overlap);
    std::vector<Buffer<uint8_t>> buffers;
    for (const size_t bytes :
         {graph_.offsets_bytes(), graph_.targets_bytes(), graph_.vertices_bytes(),
          graph_.vertices_bytes(), graph_.vertices_bytes()}) {
      buffers.push_back(runtime.alloc<uint8_t>(bytes));
    }
    const GraphMemory memory = {.offsets = buffers[0].ptr(),
                                .targets = buffers[1].ptr(),
                                .levels = buffers[2].ptr(),
                                .frontiers = {buffers[3].ptr(), buffers[4].ptr()}};
    graph_.Copy(device_, memory);
    runtime.synchronize();
    Row row = NewRow(overlap);
    row.traced = true;
    row.before = runtime.statistics();
    Search(memory, kWarmUp + kMeasured, kWarmUp, &row);
    runtime.synchronize();
    row.after = runtime.statistics();
    Finish(std::move(row));
  }

  Bench& bench_;
  const Graph graph_;
  const std::string what_;
  const GraphMemory device_;
  std::vector<SearchResult> truth_;
};

}  // namespace

void MeasureSearches(Bench& bench) { Searches(bench).Measure(); }

}  // namespace vramspan::bench
