// What the torture needs beside the kernels that all tests share.
#include <cstddef>

using Word = unsigned long long;

// Adds to the words, in one thread, and takes its time: a pause behind every 512 of them.
extern "C" __global__ void slow_add(volatile Word* words, size_t count, Word value,
                                    unsigned pause_ns) {
  for (size_t i = 0; i < count; ++i) {
    words[i] = words[i] + value;
    if (i % 512 == 511) __nanosleep(pause_ns);
  }
}
SIMCUDA_EXPORT(slow_add);
