// CUDA's device-side vocabulary for kernels that are compiled for the host: vector types, the
// index variables, atomics, fences. Included by tools/simcuda/kernel.h only.
//
// The names and overloads are CUDA's own, so that one source compiles for both; none are added.
// Every atomic is sequentially consistent here, which is stronger than on a GPU: a kernel that
// needs a fence must still say so. The _system and _block forms are the plain ones.

#ifndef VRAMSPAN_TOOLS_SIMCUDA_KERNEL_BUILTINS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_KERNEL_BUILTINS_H_

#include <sched.h>
#include <time.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

// CUDA puts these in the global namespace, and so does this file.
// NOLINTBEGIN(readability-identifier-naming)

#define SIMCUDA_VECTOR(type, name)                                                   \
  struct alignas(2 * sizeof(type)) name##2 {                                         \
    type x, y;                                                                       \
  };                                                                                 \
  struct name##3 {                                                                   \
    type x, y, z;                                                                    \
  };                                                                                 \
  struct alignas(sizeof(type) == 8 ? 16 : 4 * sizeof(type)) name##4 {                \
    type x, y, z, w;                                                                 \
  };                                                                                 \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

SIMCUDA_VECTOR(signed char, char)
SIMCUDA_VECTOR(unsigned char, uchar)
SIMCUDA_VECTOR(short, short)
SIMCUDA_VECTOR(unsigned short, ushort)
SIMCUDA_VECTOR(int, int)
SIMCUDA_VECTOR(unsigned int, uint)
SIMCUDA_VECTOR(long long, longlong)
SIMCUDA_VECTOR(unsigned long long, ulonglong)
SIMCUDA_VECTOR(float, float)
SIMCUDA_VECTOR(double, double)
#undef SIMCUDA_VECTOR

struct dim3 {
  unsigned int x = 1;
  unsigned int y = 1;
  unsigned int z = 1;
};

// Set by the grid loop of the thread that runs the kernel. Thread-local, because several streams
// run kernels at once; internal linkage, so that a kernel reaches them without a call.
[[maybe_unused]] static thread_local uint3 threadIdx;
[[maybe_unused]] static thread_local uint3 blockIdx;
[[maybe_unused]] static thread_local dim3 blockDim;
[[maybe_unused]] static thread_local dim3 gridDim;
[[maybe_unused]] static constexpr int warpSize = 32;

namespace simcuda::device {

template <typename T>
inline T FetchAddFloat(T* address, T value) {
  T seen;
  __atomic_load(address, &seen, __ATOMIC_RELAXED);
  T next = seen + value;
  while (!__atomic_compare_exchange(address, &seen, &next, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_RELAXED)) {
    next = seen + value;
  }
  return seen;
}

// Replaces *address by choose(*address), and returns what was there.
template <typename T, typename Choose>
inline T FetchUpdate(T* address, Choose choose) {
  T seen = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &seen, choose(seen), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return seen;
}

template <typename T>
inline T CompareAndSwap(T* address, T compare, T value) {
  __atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return compare;
}

}  // namespace simcuda::device

// One atomic in its three scopes.
#define SIMCUDA_ATOMIC(type, name, expression)                                       \
  static inline type name(type* address, type value) { return expression; }          \
  static inline type name##_system(type* address, type value) { return expression; } \
  static inline type name##_block(type* address, type value) { return expression; }

#define SIMCUDA_INTEGER_ATOMICS(type)                                                    \
  SIMCUDA_ATOMIC(type, atomicMin, simcuda::device::FetchUpdate(address, [=](type seen) { \
                   return value < seen ? value : seen;                                   \
                 }))                                                                     \
  SIMCUDA_ATOMIC(type, atomicMax, simcuda::device::FetchUpdate(address, [=](type seen) { \
                   return seen < value ? value : seen;                                   \
                 }))                                                                     \
  SIMCUDA_ATOMIC(type, atomicAnd, __atomic_fetch_and(address, value, __ATOMIC_SEQ_CST))  \
  SIMCUDA_ATOMIC(type, atomicOr, __atomic_fetch_or(address, value, __ATOMIC_SEQ_CST))    \
  SIMCUDA_ATOMIC(type, atomicXor, __atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST))

SIMCUDA_INTEGER_ATOMICS(int)
SIMCUDA_INTEGER_ATOMICS(unsigned int)
SIMCUDA_INTEGER_ATOMICS(unsigned long long)
SIMCUDA_ATOMIC(int, atomicAdd, __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST))
SIMCUDA_ATOMIC(unsigned int, atomicAdd, __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST))
SIMCUDA_ATOMIC(unsigned long long, atomicAdd, __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST))
SIMCUDA_ATOMIC(float, atomicAdd, simcuda::device::FetchAddFloat(address, value))
SIMCUDA_ATOMIC(double, atomicAdd, simcuda::device::FetchAddFloat(address, value))
SIMCUDA_ATOMIC(int, atomicSub, __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST))
SIMCUDA_ATOMIC(unsigned int, atomicSub, __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST))
SIMCUDA_ATOMIC(int, atomicExch, __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST))
SIMCUDA_ATOMIC(unsigned int, atomicExch, __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST))
SIMCUDA_ATOMIC(unsigned long long, atomicExch,
               __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST))
#undef SIMCUDA_INTEGER_ATOMICS
#undef SIMCUDA_ATOMIC

#define SIMCUDA_CAS(type)                                                        \
  static inline type atomicCAS(type* address, type compare, type value) {        \
    return simcuda::device::CompareAndSwap(address, compare, value);             \
  }                                                                              \
  static inline type atomicCAS_system(type* address, type compare, type value) { \
    return simcuda::device::CompareAndSwap(address, compare, value);             \
  }
SIMCUDA_CAS(unsigned short)
SIMCUDA_CAS(int)
SIMCUDA_CAS(unsigned int)
SIMCUDA_CAS(unsigned long long)
#undef SIMCUDA_CAS

// An instruction, not __atomic_thread_fence: ThreadSanitizer does not model that and g++ says so.
#if defined(__x86_64__)
static inline void __threadfence() { asm volatile("mfence" ::: "memory"); }
#else
static inline void __threadfence() { asm volatile("dmb ish" ::: "memory"); }
#endif
static inline void __threadfence_block() { __threadfence(); }
static inline void __threadfence_system() { __threadfence(); }

// A kernel that spins holds a whole CPU of the simulation, so a short sleep gives it away.
static inline void __nanosleep(unsigned int ns) {
  if (ns < 1000) {
    sched_yield();
    return;
  }
  timespec pause = {0, static_cast<long>(ns < 1000000u ? ns : 1000000u)};
  nanosleep(&pause, nullptr);
}

static inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__builtin_ia32_rdtsc());
#else
  long long now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#endif
}

template <typename T>
inline T __ldg(const T* address) {
  return *address;
}

#define SIMCUDA_BIT_CAST(to, from, name)      \
  static inline to name(from value) {         \
    to result;                                \
    std::memcpy(&result, &value, sizeof(to)); \
    return result;                            \
  }
SIMCUDA_BIT_CAST(float, int, __int_as_float)
SIMCUDA_BIT_CAST(float, unsigned int, __uint_as_float)
SIMCUDA_BIT_CAST(int, float, __float_as_int)
SIMCUDA_BIT_CAST(unsigned int, float, __float_as_uint)
SIMCUDA_BIT_CAST(double, long long, __longlong_as_double)
SIMCUDA_BIT_CAST(long long, double, __double_as_longlong)
#undef SIMCUDA_BIT_CAST

// Kernels run a block's threads one after another, so nothing can wait for its neighbours.
#define SIMCUDA_NO_BARRIER                                                  \
  __attribute__((                                                           \
      unavailable("simcuda runs the threads of a block one after another: " \
                  "__syncthreads, __syncwarp and __shared__ are not supported")))
SIMCUDA_NO_BARRIER void __syncthreads();
SIMCUDA_NO_BARRIER void __syncwarp(unsigned int mask = 0xffffffffu);
#undef SIMCUDA_NO_BARRIER

// NOLINTEND(readability-identifier-naming)

#endif  // VRAMSPAN_TOOLS_SIMCUDA_KERNEL_BUILTINS_H_
