// Eight threads that allocate and free in stream order, each on its own default stream and a second
// one: from the device's pool and, by turns, from one of their own. Each has an array for life.
// Part by part it is read into memory of a moment, and changed from there by the second
// stream, which frees that memory. A lap is four rounds of each thread; 8 GiB by default.
//
// nvcc -O2 -arch=native -o pools pools.cu && ./pools [--gib G] [--laps N] [--limit G]
#include <cmath>
#include <thread>

#include "program.h"

constexpr int kThreads = 8, kRounds = 4, kAtOnce = 3;
// An array has 24 parts, of 1 to 3 units each.
constexpr int kParts = 24, kUnits = 48;

__host__ __device__ inline uint32_t Next(uint32_t word, uint32_t round) {
  return word + static_cast<uint32_t>(Mix(word * 3 + round));
}
__global__ void Begin(uint32_t* words, size_t count) {
  for (size_t i = First(); i < count; i += Step()) words[i] = static_cast<uint32_t>(Mix(i));
}
__global__ void Read(const uint32_t* words, uint32_t* read, size_t count, uint32_t round) {
  for (size_t i = First(); i < count; i += Step()) read[i] = words[i] * 3 + round;
}
__global__ void Change(uint32_t* words, const uint32_t* read, size_t count) {
  for (size_t i = First(); i < count; i += Step()) words[i] += static_cast<uint32_t>(Mix(read[i]));
}
__global__ void Check(const uint32_t* words, size_t count, uint32_t rounds,
                      unsigned long long* wrong) {
  for (size_t i = First(); i < count; i += Step()) {
    auto expected = static_cast<uint32_t>(Mix(i));
    for (uint32_t round = 0; round < rounds; ++round) expected = Next(expected, round);
    if (words[i] != expected) atomicAdd(wrong, 1);
  }
}

class Worker {
 public:
  Worker(int number, size_t unit) : number_(number), unit_(unit) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&pool_, &properties));
    OK(cudaStreamCreateWithFlags(&second_, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&read_, cudaEventDisableTiming));
    for (auto& event : freed_) OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMallocAsync(&words_, Bytes(), cudaStreamPerThread));
    Begin<<<256, 256, 0, cudaStreamPerThread>>>(words_, Bytes() / 4);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
  }
  size_t Bytes() const { return kUnits * unit_; }
  const uint32_t* words() const { return words_; }

  void Run(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      size_t at = 0;
      // Sizes differ between neighbours and threads; over an array they add up to the same.
      for (int part = 0; part < kParts; ++part) {
        const size_t bytes = static_cast<size_t>(1 + (part + number_) % 3) * unit_;
        RunPart(words_ + at, bytes, part);
        at += bytes / 4;
      }
      ++round_;
      size_t free = 0, total = 0;
      OK(cudaMemGetInfo(&free, &total));
      if (free > total) OK(cudaErrorUnknown);
    }
    OK(cudaStreamSynchronize(second_));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaMemPoolTrimTo(pool_, 0));
  }

 private:
  void RunPart(uint32_t* words, size_t bytes, int part) {
    // Of what is read no more than kAtOnce parts live at once.
    const cudaEvent_t freed = freed_[part % kAtOnce];
    OK(cudaStreamWaitEvent(cudaStreamPerThread, freed, 0));
    uint32_t* read = nullptr;
    if (part % 2) {
      OK(cudaMallocAsync(&read, bytes, cudaStreamPerThread));
    } else {
      OK(cudaMallocFromPoolAsync(&read, bytes, pool_, cudaStreamPerThread));
    }
    Read<<<256, 256, 0, cudaStreamPerThread>>>(words, read, bytes / 4, round_);
    OK(cudaEventRecord(read_, cudaStreamPerThread));
    OK(cudaStreamWaitEvent(second_, read_, 0));
    Change<<<256, 256, 0, second_>>>(words, read, bytes / 4);
    OK(cudaFreeAsync(read, second_));
    OK(cudaEventRecord(freed, second_));
  }

  int number_;
  size_t unit_;
  uint32_t round_ = 0;
  uint32_t* words_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t second_ = nullptr;
  cudaEvent_t read_ = nullptr, freed_[kAtOnce] = {};
};

// What must cross: a lap reads and changes all arrays, S bytes, of which B are on the device before
// and B after: S - B come in, and S - B leave. It is no more for four rounds: no thread waits for
// another between rounds, so its array can stay for all four. What was freed is dead.
double Bound(const Options& options, size_t bytes) {
  return options.Beyond(static_cast<double>(bytes)) / options.link.both * 1e3;
}

int main(int argc, char** argv) {
  const Options options(argc, argv, 8, 6);
  // kAtOnce neighbours have six units.
  const auto unit =
      static_cast<size_t>(std::ceil(options.Bytes() / kThreads / (kUnits + 6) / 1024)) * 1024;
  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) workers.emplace_back(i, unit);
  const size_t arrays = kThreads * workers[0].Bytes(), peak = arrays + kThreads * 6 * unit;
  const std::vector<double> times = Repeated(
      [&] {
        std::vector<std::thread> threads;
        for (Worker& worker : workers) threads.emplace_back([&] { worker.Run(kRounds); });
        for (std::thread& thread : threads) thread.join();
      },
      options.laps);

  unsigned long long *device_wrong = Allocate<unsigned long long>(1), wrong = 0;
  OK(cudaMemset(device_wrong, 0, sizeof wrong));
  uint64_t digest = 0;
  for (const Worker& worker : workers) {
    const auto rounds = static_cast<uint32_t>(kRounds * times.size());
    Check<<<2048, 256>>>(worker.words(), worker.Bytes() / 4, rounds, device_wrong);
    digest = Mix(digest) + Digest(worker.words(), worker.Bytes());
  }
  OK(cudaMemcpy(&wrong, device_wrong, sizeof wrong, cudaMemcpyDeviceToHost));
  return Report(options, digest, wrong == 0, peak, OfLaps(options, times, Bound(options, arrays)));
}
