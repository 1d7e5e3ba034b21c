// Kernels of the programs in this folder. Those that take arrays are right for any grid.
#include <cstddef>

#include "tools/simcuda/grid_range.h"

using Word = unsigned long long;

extern "C" __global__ void add(Word* words, size_t count, Word value) {
  for (const size_t i : GridRange(count)) words[i] += value;
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
