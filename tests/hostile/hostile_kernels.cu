// Kernels of the programs in this folder. Those that take arrays stride over the grid.
#include <cstddef>

using Word = unsigned long long;

namespace {

__device__ size_t Thread() { return size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ size_t Threads() { return size_t{gridDim.x} * blockDim.x; }

}  // namespace

extern "C" __global__ void add(Word* words, size_t count, Word value) {
  for (size_t i = Thread(); i < count; i += Threads()) words[i] += value;
}
SIMCUDA_EXPORT(add);

// `add` by one thread, once the host has set *flag.
extern "C" __global__ void wait_add(const volatile unsigned* flag, Word* words, size_t count,
                                    Word value) {
  while (*flag == 0) __nanosleep(2000);
  for (size_t i = 0; i < count; ++i) words[i] += value;
}
SIMCUDA_EXPORT(wait_add);

// Adds 1 to every word, in one thread, again and again until *flag; *passes says how often.
extern "C" __global__ void churn(const volatile unsigned* flag, volatile Word* words, size_t count,
                                 volatile Word* passes) {
  Word n = 0;
  do {
    for (size_t i = 0; i < count; ++i) words[i] = words[i] + 1;
    *passes = ++n;
  } while (*flag == 0);
}
SIMCUDA_EXPORT(churn);

extern "C" __global__ void nothing(Word* words) { (void)words; }
SIMCUDA_EXPORT(nothing);
