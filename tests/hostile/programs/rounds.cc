// Rounds of work that memory is too short for. `rounds COUNT SECONDS`: none takes that long.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

HOSTILE_PROGRAM(rounds) {
  using Clock = std::chrono::steady_clock;
  Start();
  const auto blocks = Blocks(24);
  const CUstream stream = MakeStream();
  std::chrono::duration<double> slowest{0};
  for (int r = 0; r < std::atoi(argv[1]); ++r) {
    const auto begin = Clock::now();
    AddToAll(blocks, stream);
    OK(cuStreamSynchronize(stream));
    slowest = std::max<std::chrono::duration<double>>(slowest, Clock::now() - begin);
  }
  std::fprintf(stderr, "vramspan tests: the slowest took %.2f s\n", slowest.count());
  std::printf("in time: %d\n", slowest.count() < std::atof(argv[2]));
  return 0;
}
