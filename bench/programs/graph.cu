// A breadth-first search, or page ranks, over a graph like the web's that is made on the device: 8
// GiB by default, nearly all of it edges. A lap is a search from the first page, or an iteration.
//
// nvcc -O2 -arch=native -o graph graph.cu && ./graph bfs|pagerank [--gib G] [--laps N] [--limit G]
#include <cub/device/device_scan.cuh>

#include "graph_kernels.h"

constexpr int kBlocks = 2048, kThreads = 256;

Graph MakeGraph(double bytes) {
  // A page has some 31 edges, an offset and a level.
  const auto pages = std::max<size_t>(1024, static_cast<size_t>(bytes / (31 * 4 + 8 + 4)));
  uint64_t* offsets = Allocate<uint64_t>(pages + 1);
  Degrees<<<kBlocks, kThreads>>>(offsets, pages);
  size_t temporary_bytes = 0;
  OK(cub::DeviceScan::ExclusiveSum(nullptr, temporary_bytes, offsets, offsets, pages + 1));
  char* temporary = nullptr;
  OK(cudaMalloc(&temporary, temporary_bytes));
  OK(cub::DeviceScan::ExclusiveSum(temporary, temporary_bytes, offsets, offsets, pages + 1));
  OK(cudaFree(temporary));
  uint64_t count = 0;
  OK(cudaMemcpy(&count, offsets + pages, sizeof count, cudaMemcpyDeviceToHost));
  uint32_t* edges = Allocate<uint32_t>(count);
  Connect<<<kBlocks, kThreads>>>(offsets, edges, pages);
  OK(cudaGetLastError());
  return {offsets, edges, pages};
}

// What must cross in a search: the edges of each page that is reached are read once, all offsets
// and levels at least once. What of these is not on the device comes in; nearly nothing leaves.
int Search(const Options& options, const Graph& g) {
  int* levels = Allocate<int>(g.pages);
  int* more = Allocate<int>(1);
  const size_t peak = allocated_bytes;
  const std::vector<double> times = Repeated(
      [&] {
        OK(cudaMemset(levels, 0xff, g.pages * sizeof(int)));
        OK(cudaMemset(levels, 0, sizeof(int)));
        int found = 1;
        for (int level = 0; found; ++level) {
          OK(cudaMemset(more, 0, sizeof found));
          Visit<<<kBlocks, kThreads>>>(g, levels, level, more);
          OK(cudaMemcpy(&found, more, sizeof found, cudaMemcpyDeviceToHost));
        }
      },
      options.laps);

  uint8_t* led_to = Allocate<uint8_t>(g.pages);
  OK(cudaMemset(led_to, 0, g.pages));
  unsigned long long *device_counts = Allocate<unsigned long long>(2), counts[2];
  OK(cudaMemset(device_counts, 0, sizeof counts));
  CheckEdges<<<kBlocks, kThreads>>>(g, levels, led_to, device_counts);
  CheckPages<<<kBlocks, kThreads>>>(g, levels, led_to, device_counts, device_counts + 1);
  OK(cudaMemcpy(counts, device_counts, sizeof counts, cudaMemcpyDeviceToHost));
  const double read = static_cast<double>(counts[1]) * 4 + static_cast<double>(g.pages) * 12;
  const double bound = options.Beyond(read) / options.link.in * 1e3;
  return Report(options, Digest(levels, g.pages * sizeof(int)), counts[0] == 0, peak,
                OfLaps(options, times, bound));
}

// What must cross in an iteration: all S bytes are used, by turns and in the same order, of which
// B were on the device before: S - B come in. What is written is small enough to stay there.
int Iterate(const Options& options, const Graph& g) {
  float* ranks = Allocate<float>(g.pages);
  float* given = Allocate<float>(g.pages);
  unsigned* links = Allocate<unsigned>(g.pages);
  const size_t peak = allocated_bytes;
  OK(cudaMemset(links, 0, g.pages * sizeof(unsigned)));
  Count<<<kBlocks, kThreads>>>(g, links);
  Begin<<<kBlocks, kThreads>>>(links, given, g.pages);
  const std::vector<double> times = Repeated(
      [&] {
        Rank<<<kBlocks, kThreads>>>(g, given, ranks);
        Give<<<kBlocks, kThreads>>>(ranks, links, given, g.pages);
      },
      options.laps);

  unsigned long long *device_wrong = Allocate<unsigned long long>(1), wrong = 0;
  double *device_sums = Allocate<double>(2), sums[2];
  OK(cudaMemset(device_wrong, 0, sizeof wrong));
  OK(cudaMemset(device_sums, 0, sizeof sums));
  Rank<<<kBlocks, kThreads>>>(g, given, ranks);
  CheckRanks<<<kBlocks, kThreads>>>(g, given, ranks, links, device_wrong, device_sums);
  OK(cudaMemcpy(&wrong, device_wrong, sizeof wrong, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(sums, device_sums, sizeof sums, cudaMemcpyDeviceToHost));
  const auto pages = static_cast<double>(g.pages);
  const bool right = wrong == 0 && std::abs(0.15 * pages + 0.85 * sums[0] - sums[1]) < 1e-5 * pages;
  const double bound = options.Beyond(static_cast<double>(peak)) / options.link.in * 1e3;
  return Report(options, Digest(ranks, g.pages * sizeof(float)), right, peak,
                OfLaps(options, times, bound));
}

int main(int argc, char** argv) {
  const std::vector<std::string> words = {"bfs", "pagerank"};
  const Options options(argc, argv, 8, 8, words);
  if (options.words.size() != 1) Options::Refuse(words);
  const Graph g = MakeGraph(options.Bytes());
  return options.Has("bfs") ? Search(options, g) : Iterate(options, g);
}
