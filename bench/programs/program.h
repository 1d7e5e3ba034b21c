// What the CUDA programs of this folder share: options, counted allocations, the link's rates, a
// digest, and the line of JSON that compare.py reads.
#ifndef VRAMSPAN_BENCH_PROGRAMS_PROGRAM_H_
#define VRAMSPAN_BENCH_PROGRAMS_PROGRAM_H_

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#define OK(call)                                                                           \
  do {                                                                                     \
    const cudaError_t error_ = (call);                                                     \
    if (error_ != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
      std::exit(3);                                                                        \
    }                                                                                      \
  } while (0)

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

template <typename Function>
double Timed(Function function) {
  OK(cudaDeviceSynchronize());
  const auto start = std::chrono::steady_clock::now();
  function();
  OK(cudaGetLastError());
  OK(cudaDeviceSynchronize());
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

// Bytes a second of the link: one way alone, and each way while both are busy.
struct Link {
  double in, out, both;
};

inline Link MeasureLink() {
  const size_t bytes = size_t{1} << 28;
  void *from, *to, *in, *out;
  OK(cudaMallocHost(&from, bytes));
  OK(cudaMallocHost(&to, bytes));
  OK(cudaMalloc(&in, bytes));
  OK(cudaMalloc(&out, bytes));
  cudaStream_t streams[2];
  for (auto& stream : streams) OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  double best[3] = {1e30, 1e30, 1e30};
  for (int i = 0; i < 15; ++i) {
    const double ms = Timed([&] {
      if (i % 3 != 1) OK(cudaMemcpyAsync(in, from, bytes, cudaMemcpyHostToDevice, streams[0]));
      if (i % 3 != 0) OK(cudaMemcpyAsync(to, out, bytes, cudaMemcpyDeviceToHost, streams[1]));
    });
    best[i % 3] = std::min(best[i % 3], ms);
  }
  for (auto stream : streams) OK(cudaStreamDestroy(stream));
  for (void* p : {in, out}) OK(cudaFree(p));
  for (void* p : {from, to}) OK(cudaFreeHost(p));
  const double scaled = static_cast<double>(bytes) * 1e3;
  return {scaled / best[0], scaled / best[1], scaled / best[2]};
}

// PROGRAM [WORD...] [--gib G] [--laps N] [--limit G]. With a limit, on which nothing else depends,
// the link is measured and a bound printed.
struct Options {
  double gib;
  int laps;
  double limit = 0;
  Link link{1, 1, 1};
  std::vector<std::string> words;

  Options(int argc, char** argv, double default_gib, int default_laps,
          const std::vector<std::string>& known_words = {})
      : gib(default_gib), laps(default_laps) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      const double value = i + 1 < argc ? std::atof(argv[i + 1]) : 0;
      if (word == "--gib" && value > 0) {
        gib = value, ++i;
      } else if (word == "--laps" && value >= 1) {
        laps = static_cast<int>(value), ++i;
      } else if (word == "--limit" && value > 0) {
        limit = value, ++i;
      } else if (std::count(known_words.begin(), known_words.end(), word) > 0) {
        words.push_back(word);
      } else {
        Refuse(known_words);
      }
    }
    if (limit > 0) link = MeasureLink();
  }
  [[noreturn]] static void Refuse(const std::vector<std::string>& known_words) {
    std::fprintf(stderr, "Options are --gib G, --laps N and --limit G.");
    for (const std::string& word : known_words) std::fprintf(stderr, " %s", word.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  bool Has(const char* word) const { return std::count(words.begin(), words.end(), word) > 0; }
  double Bytes() const { return gib * kGiB; }
  // So much of `bytes` is not on the device when as much of it is there as the limit allows.
  double Beyond(double bytes) const { return std::max(0.0, bytes - limit * kGiB); }
};

inline size_t allocated_bytes = 0;

template <typename T>
T* Allocate(size_t count) {
  T* p = nullptr;
  OK(cudaMalloc(&p, count * sizeof(T)));
  allocated_bytes += count * sizeof(T);
  return p;
}

// A hash of one word; the same on host and device.
__host__ __device__ inline uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Each thread of a kernel goes from First() by Step() up to the number of its elements.
__device__ inline size_t First() { return blockIdx.x * size_t{blockDim.x} + threadIdx.x; }
__device__ inline size_t Step() { return gridDim.x * size_t{blockDim.x}; }

// A sum of hashes is the same in whatever order threads add to it.
__global__ void AddHashes(const uint32_t* words, size_t count, unsigned long long* sum) {
  unsigned long long mine = 0;
  for (size_t i = First(); i < count; i += Step()) mine += Mix((uint64_t{words[i]} << 32) ^ Mix(i));
  atomicAdd(sum, mine);
}

inline uint64_t Digest(const void* device, size_t bytes) {
  unsigned long long* sum;
  unsigned long long result = 0;
  OK(cudaMalloc(&sum, sizeof result));
  OK(cudaMemset(sum, 0, sizeof result));
  AddHashes<<<1024, 256>>>(static_cast<const uint32_t*>(device), bytes / 4, sum);
  OK(cudaGetLastError());
  OK(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
  OK(cudaFree(sum));
  return result;
}

// The times of `count` calls. With BENCH_BURSTS=1 as many as each line of standard input says, up
// to a zero, each line answered by its times: so programs take turns (together.py).
template <typename Function>
std::vector<double> Repeated(Function function, int count) {
  const char* bursts = std::getenv("BENCH_BURSTS");
  const bool by_turns = bursts != nullptr && std::strcmp(bursts, "1") == 0;
  std::vector<double> all;
  while (!by_turns || (std::scanf("%d", &count) == 1 && count > 0)) {
    const size_t before = all.size();
    for (int i = 0; i < count; ++i) all.push_back(Timed(function));
    if (!by_turns) break;
    for (size_t i = before; i < all.size(); ++i)
      std::printf("%s%.3f", i == before ? "[" : ", ", all[i]);
    std::printf("]\n");
    std::fflush(stdout);
  }
  return all;
}

inline double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
// The median of the later half: the first laps are those in which a runtime learns.
inline double Settled(const std::vector<double>& times) {
  return Median({times.begin() + static_cast<long>(times.size() / 2), times.end()});
}

using Figures = std::vector<std::pair<const char*, double>>;

// What is printed of a program's laps: its bound is in ms.
inline Figures OfLaps(const Options& options, const std::vector<double>& times, double bound) {
  Figures figures{{"lap", Settled(times)}, {"first", times.empty() ? 0 : times[0]}};
  if (options.limit > 0) figures.emplace_back("bound", bound);
  return figures;
}

// Prints the last line. `right` is what the program found when it checked its result.
inline int Report(const Options& options, uint64_t digest, bool right, size_t peak_bytes,
                  Figures figures) {
  if (options.limit > 0) {
    figures.emplace_back("link_in_gb_s", options.link.in / 1e9);
    figures.emplace_back("link_both_gb_s", options.link.both / 1e9);
  }
  std::printf("{\"result\": \"%016llx%s\", \"peak_mib\": %zu, \"ms\": {",
              static_cast<unsigned long long>(digest), right ? "" : " WRONG", peak_bytes >> 20);
  for (size_t i = 0; i < figures.size(); ++i)
    std::printf("%s\"%s\": %.3f", i ? ", " : "", figures[i].first, figures[i].second);
  std::printf("}}\n");
  return right ? 0 : 1;
}

#endif  // VRAMSPAN_BENCH_PROGRAMS_PROGRAM_H_
