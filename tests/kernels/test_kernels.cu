// Kernels for tests. For those that take arrays any grid is right for any size.

#include <cstddef>

#include "tests/kernels/test_kernels.h"
#include "tools/simcuda/grid_range.h"

using vramspan_test::Arrays;
using vramspan_test::AtomicCells;
using Word = unsigned long long;

namespace {

__device__ size_t Thread() { return size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ size_t Threads() { return size_t{gridDim.x} * blockDim.x; }

// Reads what others may be writing.
template <typename T>
__device__ T Peek(const T* address) {
  return *const_cast<const volatile T*>(address);
}

}  // namespace

extern "C" __global__ void fill(Word* words, size_t count, Word value) {
  for (const size_t i : GridRange(count)) words[i] = value;
}
SIMCUDA_EXPORT(fill);

// words[i] = HashWord(i, seed): contents that tell every position apart.
extern "C" __global__ void fill_hash(Word* words, size_t count, Word seed) {
  for (const size_t i : GridRange(count)) words[i] = vramspan_test::HashWord(i, seed);
}
SIMCUDA_EXPORT(fill_hash);

extern "C" __global__ void add_constant(Word* words, size_t count, Word value) {
  for (const size_t i : GridRange(count)) words[i] += value;
}
SIMCUDA_EXPORT(add_constant);

// Folds HashWord(i, words[i]) of every word into *out by exclusive or.
extern "C" __global__ void checksum(const Word* words, size_t count, Word* out) {
  Word sum = 0;
  for (const size_t i : GridRange(count)) {
    sum ^= vramspan_test::HashWord(i, words[i]);
  }
  if (sum != 0) atomicXor(out, sum);
}
SIMCUDA_EXPORT(checksum);

extern "C" __global__ void copy(Word* dst, const Word* src, size_t count) {
  for (const size_t i : GridRange(count)) dst[i] = __ldg(&src[i]);
}
SIMCUDA_EXPORT(copy);

extern "C" __global__ void scale(float* values, size_t count, float factor) {
  for (const size_t i : GridRange(count)) values[i] *= factor;
}
SIMCUDA_EXPORT(scale);

extern "C" __global__ void gather(Word* out, const Word* from, const unsigned* index,
                                  size_t count) {
  for (const size_t i : GridRange(count)) out[i] = from[index[i]];
}
SIMCUDA_EXPORT(gather);

// Runs until *flag, written by the host or by another stream, is at least `value`.
extern "C" __global__ void spin_until(const volatile unsigned* flag, unsigned value) {
  while (*flag < value) __nanosleep(2000);
  __threadfence_system();
}
SIMCUDA_EXPORT(spin_until);

// spin_until for tests of what must not hang: gives up after `cycles` of the processor's clock, so
// that a failure leaves no kernel behind, and says so in *gave_up.
extern "C" __global__ void spin_until_or_give_up(const volatile unsigned* flag, unsigned value,
                                                 long long cycles, volatile unsigned* gave_up) {
  for (const long long begin = clock64(); *flag < value;) {
    if (clock64() - begin > cycles) {
      *gave_up = 1;
      break;
    }
    __nanosleep(2000);
  }
  __threadfence_system();
}
SIMCUDA_EXPORT(spin_until_or_give_up);

// Adds 1 to every word, again and again, until *flag is at least `value`. Every thread strides over
// the grid, counts its rounds in rounds[its number], which shows that it runs, and goes through
// one.
extern "C" __global__ void add_until(Word* words, size_t count, const volatile unsigned* flag,
                                     unsigned value, volatile Word* rounds) {
  Word done = 0;
  do {
    for (size_t i = Thread(); i < count; i += Threads()) words[i] += 1;
    __threadfence();
    rounds[Thread()] = ++done;
    __nanosleep(2000);
  } while (*flag < value);
  __threadfence_system();
}
SIMCUDA_EXPORT(add_until);

extern "C" __global__ void set_flag(volatile unsigned* flag, unsigned value) {
  __threadfence_system();
  if (Thread() == 0) *flag = value;
}
SIMCUDA_EXPORT(set_flag);

extern "C" __global__ void add_arrays(Arrays arrays) {
  for (const size_t i : GridRange(arrays.count)) {
    arrays.out[i] = arrays.left[i] + arrays.right[i];
  }
}
SIMCUDA_EXPORT(add_arrays);

// Pointers that no parameter shows: adds `value` to every word of every array of a table in memory.
extern "C" __global__ void add_to_table(Word* const* table, size_t arrays, size_t count,
                                        Word value) {
  for (size_t a = 0; a < arrays; ++a) {
    for (const size_t i : GridRange(count)) table[a][i] += value;
  }
}
SIMCUDA_EXPORT(add_to_table);

// Stores the parameters that it was passed, of every alignment: a hash of them into *out.
extern "C" __global__ void mixed_parameters(char a, double b, short c, float4 d, char e, Word f,
                                            Word* out) {
  Word hash = 0;
  const Word values[] = {static_cast<Word>(a),
                         static_cast<Word>(b),
                         static_cast<Word>(c),
                         static_cast<Word>(d.x),
                         static_cast<Word>(d.w),
                         static_cast<Word>(e),
                         f};
  for (Word value : values) hash = hash * 31 + value;
  if (Thread() == 0) *out = hash;
}
SIMCUDA_EXPORT(mixed_parameters);

// Position of every thread of a three-dimensional grid, by its number in it.
extern "C" __global__ void record_indices(uint3* blocks, uint3* threads) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned at = block * blockDim.x * blockDim.y * blockDim.z + thread;
  blocks[at] = blockIdx;
  threads[at] = threadIdx;
}
SIMCUDA_EXPORT(record_indices);

extern "C" __global__ void atomics(AtomicCells* cells) {
  const unsigned thread = static_cast<unsigned>(Thread());
  atomicAdd(&cells->sum_u32, 1u);
  atomicAdd(&cells->sum_u64, 1ull);
  atomicAdd(&cells->sum_f32, 1.0f);
  atomicAdd(&cells->sum_f64, 1.0);
  atomicAdd_system(&cells->system_u64, 1ull);
  atomicMax(&cells->max_u32, thread);

  unsigned seen = Peek(&cells->cas_u32);
  for (unsigned expected = ~seen; expected != seen;) {
    expected = seen;
    seen = atomicCAS(&cells->cas_u32, expected, expected + 1);
  }
  Word seen_wide = Peek(&cells->cas_u64);
  for (Word expected = ~seen_wide; expected != seen_wide;) {
    expected = seen_wide;
    seen_wide = atomicCAS(&cells->cas_u64, expected, expected + 1);
  }
  unsigned short seen_short = Peek(&cells->cas_u16);
  for (unsigned short expected = static_cast<unsigned short>(~seen_short);
       expected != seen_short;) {
    expected = seen_short;
    seen_short = atomicCAS(&cells->cas_u16, expected, static_cast<unsigned short>(expected + 1));
  }

  // What is put in and what is taken out cancel, but for what is still in at the end.
  const Word token = vramspan_test::HashWord(thread, 1);
  atomicXor(&cells->tokens, token ^ atomicExch(&cells->exchange, token));

  for (bool done = false; !done;) {
    if (atomicCAS(&cells->lock, 0u, 1u) == 0u) {
      __threadfence();
      volatile unsigned* locked = &cells->locked;
      *locked = *locked + 1;
      __threadfence();
      atomicExch(&cells->lock, 0u);
      done = true;
    }
  }
}
SIMCUDA_EXPORT(atomics);

__device__ unsigned long long launch_counter;
SIMCUDA_EXPORT_GLOBAL(launch_counter);
__constant__ unsigned long long constant_table[4] = {3, 5, 7, 11};
SIMCUDA_EXPORT_GLOBAL(constant_table);

// launch_counter += constant_table[which], once a launch.
extern "C" __global__ void count_launch(unsigned which) {
  if (Thread() == 0) atomicAdd(&launch_counter, constant_table[which % 4]);
}
SIMCUDA_EXPORT(count_launch);

extern "C" __global__ void nothing() {}
SIMCUDA_EXPORT(nothing);

// Reads one byte, wherever the pointer points.
extern "C" __global__ void touch(const volatile char* address) {
  if (Thread() == 0) (void)*address;
}
SIMCUDA_EXPORT(touch);
