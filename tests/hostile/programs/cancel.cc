// A thread is cancelled while it launches, ROUNDS times: `cancel ROUNDS`.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

std::vector<CUdeviceptr> blocks;
CUstream stream;

void* LaunchForEver(void*) {
  OK(cuCtxSetCurrent(gpu.context));
  for (size_t i = 0;; ++i) {
    Add(blocks[i * 7 % blocks.size()], kBlockWords, 0, stream);
    pthread_testcancel();
  }
}

}  // namespace

HOSTILE_PROGRAM(cancel) {
  Start();
  blocks = Blocks(24);
  stream = MakeStream();
  AddToAll(blocks, stream);
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, LaunchForEver, nullptr);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
  AddToAll(blocks, stream);
  OK(cuCtxSynchronize());
  size_t wrong = 0;
  for (const CUdeviceptr block : blocks) wrong += WrongWords(block, 2);
  std::printf("%zu words are wrong\n", wrong);
  return wrong != 0;
}
