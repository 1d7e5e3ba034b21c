// Many threads at once, each with its own default stream. `many_threads THREADS SECONDS`: that long
// at most.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

HOSTILE_PROGRAM(many_threads) {
  Start();
  const auto blocks = Blocks(24);
  for (int r = 0; r < 2; ++r) AddToAll(blocks, nullptr);
  OK(cuCtxSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    threads.emplace_back([&blocks, i] {
      OK(cuCtxSetCurrent(gpu.context));
      for (int k = 0; k < 5; ++k) {
        Add(blocks[static_cast<size_t>(i + k) % blocks.size()], 8, 0, CU_STREAM_PER_THREAD);
      }
      OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "vramspan tests: %.2f s\n", took.count());
  std::printf("in time: %d\n", took.count() < std::atof(argv[2]));
  return 0;
}
