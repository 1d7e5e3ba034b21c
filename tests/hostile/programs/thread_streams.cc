// Per-thread default streams: a thread submits long work and ends; the next, which gets its id,
// submits short work in its own default stream. That this has ended says nothing of the other's.
// `thread_streams ROUNDS`
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

constexpr size_t kPasses = 64;  // Where in the page `churn` counts.

size_t Round(const std::vector<CUdeviceptr>& blocks, CUstream side, Page* page) {
  OK(cuMemsetD8(blocks[0], 0, kBlock));
  OK(cuCtxSynchronize());        // `side` does not wait for it.
  for (int i = 0; i < 4; ++i) {  // It is on the device.
    Add(blocks[0], kBlockWords, 0, side);
    OK(cuStreamSynchronize(side));
  }
  *page->word = 0;
  std::thread([&] {
    OK(cuCtxSetCurrent(gpu.context));
    Churn(page->address, blocks[0], kBlockWords, page->address + kPasses, CU_STREAM_PER_THREAD);
  }).join();
  std::thread([&] {
    OK(cuCtxSetCurrent(gpu.context));
    for (int i = 0; i < 4; ++i) Add(blocks[1], kBlockWords, 0, CU_STREAM_PER_THREAD);
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  }).join();
  for (int r = 0; r < 10; ++r) {
    for (size_t i = 2; i < blocks.size(); ++i) Add(blocks[i], kBlockWords, 1, side);
    if (r % 5 == 4) OK(cuStreamSynchronize(side));
  }
  *page->word = 1;
  OK(cuCtxSynchronize());
  return WrongWords(blocks[0], *reinterpret_cast<volatile Word*>(page->word + kPasses / 4));
}

}  // namespace

HOSTILE_PROGRAM(thread_streams) {
  Start();
  const auto blocks = Blocks(24);
  Page page;
  const CUstream side = MakeStream();
  *page.word = 1;
  Churn(page.address, blocks[0], kBlockWords, page.address + kPasses, CU_STREAM_PER_THREAD);
  OK(cuCtxSynchronize());
  for (int r = 0; r < 3; ++r) AddToAll(blocks, side);  // Memory is short: all is recorded.
  OK(cuCtxSynchronize());
  size_t wrong = 0;
  for (int r = 0; r < (argc > 1 ? std::atoi(argv[1]) : 1); ++r) {
    wrong += Round(blocks, side, &page);
  }
  std::printf("%zu words are wrong\n", wrong);
  return wrong != 0;
}
