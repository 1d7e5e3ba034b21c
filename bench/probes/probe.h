// What the probes share: checked driver calls, and loads that run beside what is measured.
#ifndef VRAMSPAN_BENCH_PROBES_PROBE_H_
#define VRAMSPAN_BENCH_PROBES_PROBE_H_

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#define CU(call)                                                                \
  do {                                                                          \
    const int error_ = static_cast<int>(call);                                  \
    if (error_ != 0) {                                                          \
      std::fprintf(stderr, "%s: error %d, line %d\n", #call, error_, __LINE__); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

constexpr size_t kMiB = size_t{1} << 20;

// Reads and writes all of it.
__global__ void Touch(float4* data, size_t count) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x) {
    float4 v = data[i];
    v.x += 1;
    data[i] = v;
  }
}

// Keeps its multiprocessors for so many cycles.
__global__ void Spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

using Clock = std::chrono::steady_clock;

inline double MicrosecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

inline double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The mover's place: a second context of the process, with memory and streams for copies.
class Mover {
 public:
  Mover() {
    CUcontext program;
    CU(cuCtxGetCurrent(&program));
    CU(cuCtxCreate(&context_, nullptr, 0, 0));
    CU(cuMemAllocHost(&host_in_, 256 * kMiB));
    CU(cuMemAllocHost(&host_out_, 64 * kMiB));
    CU(cuMemAlloc(&device_in_, 256 * kMiB));
    CU(cuMemAlloc(&device_out_, 64 * kMiB));
    CU(cuStreamCreate(&in_, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&out_, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&kernels_, CU_STREAM_NON_BLOCKING));
    CU(cuCtxSetCurrent(program));
  }
  // Each of these runs until `stop`, on a thread of its own.
  void CopyIn(const std::atomic<bool>& stop) const {
    CU(cuCtxSetCurrent(context_));
    while (!stop) {
      for (size_t i = 0; i < 4; ++i) {
        CU(cuMemcpyHtoDAsync(device_in_ + i * 64 * kMiB,
                             static_cast<char*>(host_in_) + i * 64 * kMiB, 64 * kMiB, in_));
      }
      CU(cuStreamSynchronize(in_));
    }
  }
  // `piece` bytes at a time, 64 MiB at most.
  void CopyOut(const std::atomic<bool>& stop, size_t piece = 16 * kMiB) const {
    CU(cuCtxSetCurrent(context_));
    while (!stop) {
      CU(cuMemcpyDtoHAsync(host_out_, device_out_, piece, out_));
      CU(cuStreamSynchronize(out_));
    }
  }
  // As a fingerprint of 64 MiB every millisecond.
  void Kernels(const std::atomic<bool>& stop) const {
    CU(cuCtxSetCurrent(context_));
    while (!stop) {
      Touch<<<132, 512, 0, kernels_>>>(reinterpret_cast<float4*>(device_out_), 64 * kMiB / 16);
      CU(cuStreamSynchronize(kernels_));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  CUcontext context() const { return context_; }

 private:
  CUcontext context_ = nullptr;
  void* host_in_ = nullptr;
  void* host_out_ = nullptr;
  CUdeviceptr device_in_ = 0, device_out_ = 0;
  CUstream in_ = nullptr, out_ = nullptr, kernels_ = nullptr;
};

// Threads that run until it goes out of scope.
class Beside {
 public:
  using Load = std::function<void(const std::atomic<bool>&)>;
  explicit Beside(const std::vector<Load>& loads) {
    for (const Load& load : loads) threads_.emplace_back([this, load] { load(stop_); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  ~Beside() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

#endif  // VRAMSPAN_BENCH_PROBES_PROBE_H_
