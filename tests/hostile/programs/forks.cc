// Forks children that leave by exit() while other threads launch. `forks CHILDREN`
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

HOSTILE_PROGRAM(forks) {
  Start();
  const auto blocks = Blocks(1);
  const CUstream stream = MakeStream();
  std::atomic<bool> stop{false};
  std::thread launching[2];
  for (std::thread& thread : launching) {
    thread = std::thread([&] {
      OK(cuCtxSetCurrent(gpu.context));
      for (size_t i = 0; !stop; ++i) {
        Add(blocks[0] + i % 64 * sizeof(Word), 1, 1, stream);
        if (i % 50 == 0) OK(cuStreamSynchronize(stream));
      }
    });
  }
  int hung = 0;
  for (int i = 0; i < std::atoi(argv[1]) && hung == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int waits = 0;
    while (waits < 5000 && waitpid(child, nullptr, WNOHANG) == 0) {
      usleep(++waits < 200 ? 100 : 1000);
    }
    if (waits < 5000) continue;
    ++hung;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  stop = true;
  for (std::thread& thread : launching) thread.join();
  std::printf("%d children hang in exit\n", hung);
  return hung != 0;
}
