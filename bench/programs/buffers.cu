// Buffers of a plain CUDA program: buffers [COUNT] [MIB EACH] [CALLS]. Kernels over all of them,
// every word checked, then CALLS (20,000) mallocs and frees of mixed sizes.
//
// nvcc -O2 -arch=sm_90 -o buffers buffers.cu
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CK(x)                                                                  \
  do {                                                                         \
    cudaError_t e_ = (x);                                                      \
    if (e_ != cudaSuccess) {                                                   \
      std::printf("%s: %s (line %d)\n", #x, cudaGetErrorString(e_), __LINE__); \
      std::exit(3);                                                            \
    }                                                                          \
  } while (0)
__global__ void fill(unsigned* p, size_t n, unsigned seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
       i += size_t(gridDim.x) * blockDim.x)
    p[i] = unsigned(i) * 2654435761u + seed;
}
__global__ void add(unsigned* p, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
       i += size_t(gridDim.x) * blockDim.x)
    p[i] += 1;
}
__global__ void check(const unsigned* p, size_t n, unsigned seed, unsigned long long* wrong) {
  unsigned long long w = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n;
       i += size_t(gridDim.x) * blockDim.x)
    w += p[i] != unsigned(i) * 2654435761u + seed;
  if (w) atomicAdd(wrong, w);
}
int main(int argc, char** argv) {
  size_t count = argc > 1 ? std::atoi(argv[1]) : 16, mib = argc > 2 ? std::atoi(argv[2]) : 256;
  const int calls = argc > 3 ? std::atoi(argv[3]) : 20000;
  size_t bytes = mib << 20, n = bytes / 4;
  std::vector<unsigned*> p(count);
  for (auto& q : p) CK(cudaMalloc(&q, bytes));
  unsigned long long* wrong;
  CK(cudaMalloc(&wrong, 8));
  CK(cudaMemset(wrong, 0, 8));
  for (size_t i = 0; i < count; ++i) fill<<<512, 256>>>(p[i], n, unsigned(i));
  auto t0 = std::chrono::steady_clock::now();
  for (int r = 0; r < 3; ++r)
    for (size_t i = 0; i < count; ++i) add<<<512, 256>>>(p[i], n);
  CK(cudaDeviceSynchronize());
  auto t1 = std::chrono::steady_clock::now();
  for (size_t i = 0; i < count; ++i) check<<<512, 256>>>(p[i], n, unsigned(i) + 3, wrong);
  unsigned long long w = 0;
  CK(cudaMemcpy(&w, wrong, 8, cudaMemcpyDeviceToHost));
  unsigned word = 0;
  CK(cudaMemcpy(&word, p[count - 1] + 5, 4, cudaMemcpyDeviceToHost));
  cudaPointerAttributes a;
  CK(cudaPointerGetAttributes(&a, p[0]));
  for (auto q : p) CK(cudaFree(q));
  // Mixed sizes.
  auto t2 = std::chrono::steady_clock::now();
  std::vector<void*> live(64, nullptr);
  unsigned s = 1;
  for (int i = 0; i < calls; ++i) {
    s = s * 1664525u + 1013904223u;
    void*& q = live[(s >> 8) % 64];
    if (q) {
      CK(cudaFree(q));
      q = nullptr;
    } else {
      size_t b = size_t(256) << ((s >> 16) % 17);
      CK(cudaMalloc(&q, b));
    }
  }
  auto t3 = std::chrono::steady_clock::now();
  const double rounds = std::chrono::duration<double, std::milli>(t1 - t0).count();
  const double mallocs = std::chrono::duration<double, std::milli>(t3 - t2).count();
  std::printf("{\"result\": \"%llu wrong, %s, type %d\", \"peak_mib\": %zu, ", w,
              word == 5u * 2654435761u + unsigned(count - 1) + 3 ? "right" : "WRONG", a.type,
              count * mib);
  std::printf("\"ms\": {\"rounds\": %.1f, \"mallocs\": %.1f}}\n", rounds, mallocs);
  return w != 0;
}
