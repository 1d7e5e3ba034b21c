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

// Kernels that are given addresses in other forms than pointers. Each adds to two arrays.
namespace {

__device__ void AddBoth(Word* first, Word* second, size_t count, Word value) {
  for (const size_t i : GridRange(count)) {
    first[i] += value;
    second[i] += value;
  }
}

}  // namespace

#pragma pack(push, 1)
struct PackedPair {
  Word* first;
  unsigned count;
  Word* second;
};
#pragma pack(pop)

extern "C" __global__ void add_packed(PackedPair pair, Word value) {
  AddBoth(pair.first, pair.second, pair.count, value);
}
SIMCUDA_EXPORT(add_packed);

extern "C" __global__ void add_one_based(Word* first, Word* second, size_t count, Word value) {
  AddBoth(first + 1, second + 1, count, value);
}
SIMCUDA_EXPORT(add_one_based);

extern "C" __global__ void add_apart(Word* first, long long words, size_t count, Word value) {
  AddBoth(first, first + words, count, value);
}
SIMCUDA_EXPORT(add_apart);

extern "C" __global__ void add_halves(size_t flagged, unsigned low, unsigned count, unsigned high,
                                      Word value) {
  AddBoth(reinterpret_cast<Word*>(flagged & ~size_t{7}),
          reinterpret_cast<Word*>(size_t{high} << 32 | low), count, value);
}
SIMCUDA_EXPORT(add_halves);

extern "C" __global__ void add_tagged(size_t first, size_t second, size_t count, Word value) {
  AddBoth(reinterpret_cast<Word*>(first << 16 >> 16), reinterpret_cast<Word*>(second << 16 >> 16),
          count, value);
}
SIMCUDA_EXPORT(add_tagged);

extern "C" __global__ void add_pages(size_t first, size_t second, size_t count, Word value) {
  AddBoth(reinterpret_cast<Word*>(first << 12), reinterpret_cast<Word*>(second << 12), count,
          value);
}
SIMCUDA_EXPORT(add_pages);
