// Kernels whose machine code real_code_test.cc reads: each takes its addresses in another way.
//
// The texts NAME.sm_*.sass beside this file were made of it by make.sh, with nvcc and
// nvdisasm 13.0.
#include <cassert>
#include <cstdint>
#include <cstdio>

#define KERNEL extern "C" __global__

KERNEL void add(float* a, const float* b, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    a[i] += b[i];
}
KERNEL void gather32(float* a, const float* b, const int* idx, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[idx[i]];
}
KERNEL void gather64(float* a, const float* b, const long* idx, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[idx[i]];
}
KERNEL void gather64s(float* a, const float* b, const int* idx, int n, long stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[idx[i] * stride];
}
KERNEL void table(float** a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i][0] = 1;
}
KERNEL void deref(float** a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[0][i] = 1;
}
struct S {
  float* p[4];
  int n;
};
KERNEL void bystruct(S s) {
  int i = threadIdx.x;
  for (int k = 0; k < s.n; k++) s.p[k][i] = 1;
}
KERNEL void halves(unsigned lo, unsigned hi) {
  float* p = (float*)(((uint64_t)hi << 32) | lo);
  p[threadIdx.x] = 1;
}
__device__ float* g;
__constant__ float* c;
KERNEL void bysym() { g[threadIdx.x] = 1; }
KERNEL void byconst() { c[threadIdx.x] = 1; }
KERNEL void shared_pointers(float** t, float* o) {
  __shared__ float* s[32];
  s[threadIdx.x] = t[threadIdx.x];
  __syncthreads();
  *s[31 - threadIdx.x] = 1;
}
KERNEL void tree(const int* l, const int* r, int* out, int n) {
  int i = threadIdx.x;
  int x = 0;
  while (x < n) {
    x = (i & 1) ? l[x] : r[x];
    i >>= 1;
  }
  out[threadIdx.x] = x;
}
KERNEL void list(void** h, int n) {
  void** p = h;
  for (int i = 0; i < n; i++) p = (void**)*p;
  p[1] = p;
}
KERNEL void local_array(float* a, float* b, int k) {
  float* v[8];
  for (int i = 0; i < 8; i++) v[i] = (i * k) & 1 ? a : b;
  v[k][threadIdx.x] = 1;
}
__device__ __noinline__ float slow(float x, int n) {
  float s = 0;
  for (int i = 0; i < n; i++) s += sqrtf(x * i);
  return s;
}
KERNEL void calls(float* a, int n) {
  int i = threadIdx.x;
  a[i] = slow(a[i], n) / a[i + 1];
}
KERNEL void distance(float* a, const long* d) { a[d[0] + threadIdx.x] = 1; }
KERNEL void page(const unsigned* pages) {
  float* p = (float*)((uint64_t)pages[threadIdx.x] << 12);
  *p = 1;
}
KERNEL void asserts(float* a, const int* idx, int n) {
  int i = idx[threadIdx.x];
  assert(i < n);
  a[i] = 1;
}
KERNEL void prints(float* a) { printf("%f\n", a[0]); }
KERNEL void atomics(unsigned long long* a, const float* x, float* y) {
  unsigned long long k = atomicAdd(a, 1ull);
  y[(int)k] = x[threadIdx.x];
}
KERNEL void sw(float* a, float* b, int k) {
  switch (k) {
    case 0:
      a[0] = 1;
      break;
    case 1:
      a[1] = 2;
      b[5] = 7;
      break;
    case 2:
      b[1] = 2;
      break;
    case 3:
      b[7] = a[1];
      break;
    case 4:
      a[9] = b[3];
      break;
    case 5:
      a[3] = 0;
      break;
    case 6:
      b[0] = b[1] + b[2];
      break;
    case 7:
      a[100] = a[20];
  }
}
