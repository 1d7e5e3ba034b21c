// A batch system's limit on the size of files, set once the driver has its memory.
#include <sys/resource.h>

#include <cstdio>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

HOSTILE_PROGRAM(file_limit) {
  Start();
  const auto blocks = Blocks(1);
  const rlimit limit{16384, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
  for (size_t i = 0; i < 10000; ++i) {
    Add(blocks[0] + i % 512 * sizeof(Word), 1 + i % 400, 1, nullptr);
    if (i % 100 == 0) OK(cuCtxSynchronize());
  }
  OK(cuCtxSynchronize());
  std::printf("the program ends in order\n");
  return 0;
}
