// Kernels whose machine code real_code_test.cc reads: what C++ does with pointers beyond arrays.
//
// The texts NAME.sm_*.sass beside this file were made of it by make.sh, with nvcc and
// nvdisasm 13.0.
#include <cstdint>
#include <cstdio>

#define KERNEL extern "C" __global__

KERNEL void mallocs(float* a) {
  float* p = (float*)malloc(16 * threadIdx.x);
  p[0] = a[0];
  a[1] = p[0];
  free(p);
}
typedef float (*F)(float);
__device__ float f1(float x) { return x + 1; }
__device__ float f2(float x) { return x * x; }
__device__ F function_table[2] = {f1, f2};
KERNEL void pointers(float* a, int k) { a[0] = function_table[k](a[1]); }
struct B {
  __device__ virtual float go(float x) = 0;
  float v;
};
struct D1 : B {
  __device__ float go(float x) override { return x + v; }
};
struct D2 : B {
  __device__ float go(float x) override { return x * v; }
};
KERNEL void virtuals(B* b, float* a) { a[0] = b->go(a[1]); }
KERNEL void local_virtual(float* a, int k) {
  D1 d1;
  D2 d2;
  d1.v = 1;
  d2.v = 2;
  B* b = k ? (B*)&d1 : (B*)&d2;
  a[0] = b->go(a[1]);
}
KERNEL void print_string(const char* const* s) { printf("%s\n", s[0]); }
__device__ float buffer[1024];
KERNEL void own_variable(const int* i) { buffer[i[threadIdx.x]] = 1; }
KERNEL void tex(cudaTextureObject_t t, float* o) {
  o[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x);
}
KERNEL void texs(cudaTextureObject_t* t, float* o) {
  o[threadIdx.x] = tex1Dfetch<float>(t[1], threadIdx.x);
}
KERNEL void surf(cudaSurfaceObject_t t, float* o) {
  surf1Dwrite(o[threadIdx.x], t, threadIdx.x * 4);
}
__device__ __noinline__ int recurse(const int* p, int n) {
  return n < 2 ? p[n] : recurse(p, n - 1) + recurse(p + 1, n - 2);
}
KERNEL void recursion(const int* p, int* o, int n) { o[threadIdx.x] = recurse(p, n); }
struct Packed {
  char c;
  float* p;
} __attribute__((packed));
KERNEL void packed_memory(Packed* q) { q[threadIdx.x].p[0] = 1; }
KERNEL void two_words(const unsigned* w) {
  float* p = (float*)(((uint64_t)w[1] << 32) | w[0]);
  p[threadIdx.x] = 1;
}
KERNEL void tagged(const uint64_t* w) {
  float* p = (float*)(w[0] & ~7ull);
  p[threadIdx.x] = 1;
}
KERNEL void xored(float* a, const uint64_t* w) {
  float* p = (float*)((uint64_t)a ^ w[0]);
  p[threadIdx.x] = 1;
}
KERNEL void shuffled(float** w) {
  float* p = w[threadIdx.x];
  p = (float*)__shfl_sync(~0u, (unsigned long long)p, 3);
  p[threadIdx.x] = 1;
}
KERNEL void by_local(float** w, int k) {
  float* v[16];
  for (int i = 0; i < 16; i++) v[i] = w[i];
  v[k][threadIdx.x] = 1;
}
KERNEL void by_local_pointer(float** w, float* a, int k) {
  float* v[16];
  for (int i = 0; i < 16; i++) v[i] = a + i;
  float*** g = (float***)&w;
  for (int i = 0; i < k; i++) v[i & 15] = w[i];
  v[k & 15][threadIdx.x] = 1;
}
KERNEL void swapped(float* a, float** w, int n) {
  float* p = a;
  for (int i = 0; i < n; i++) {
    p[i] = 1;
    p = *w;
  }
}
KERNEL void exch(unsigned long long* w, float* a) {
  float* p = (float*)atomicExch(w, (unsigned long long)a);
  if (p) p[0] = 1;
}
KERNEL void scaled_pages(char* a, const unsigned* w) { a[(uint64_t)w[0] * 4096] = 1; }
KERNEL void own_distance(char* a, const long* w) { a[w[0]] = 1; }
KERNEL void half_pages(const unsigned* w, long long k) {
  float* p = (float*)((uint64_t)w[0] * 65536 + k);
  *p = 1;
}
