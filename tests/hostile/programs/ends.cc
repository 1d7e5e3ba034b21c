// `ends HOW`: ways to end the process, or its context, while work is held and in flight.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

std::vector<CUdeviceptr> blocks;
CUstream stream;
Page* page;

// A kernel that waits for the host, and much behind it that memory is too short for.
void Park(int milliseconds) {
  WaitAdd(page->address, blocks[0], 1, 1, stream);
  AddToAll(blocks, stream);
  std::thread([milliseconds] {
    usleep(static_cast<unsigned>(milliseconds) * 1000);
    *page->word = 1;
  }).detach();
}

int Reset() {
  Park(200);
  OK(cuDevicePrimaryCtxReset(gpu.device));
  return 7;
}

int ResetAgain() {
  for (int i = 0; i < 5; ++i) {
    OK(cuDevicePrimaryCtxReset(gpu.device));
    OK(cuDevicePrimaryCtxRetain(&gpu.context, gpu.device));
    OK(cuCtxSetCurrent(gpu.context));
    Blocks(12);
  }
  return 7;
}

int ResetBeside() {
  Park(200);
  std::thread allocating([] {
    for (int i = 0; i < 2000; ++i) {
      CUdeviceptr p = 0;
      if (cuMemAlloc(&p, size_t{1} << 20) == CUDA_SUCCESS) cuMemFree(p);
    }
  });
  OK(cuDevicePrimaryCtxReset(gpu.device));
  allocating.join();
  return 7;
}

int Fault() {
  Park(200);
  // Read at run time: the compiler knows what a constant leads to.
  volatile int* volatile nowhere = reinterpret_cast<volatile int*>(size_t{8});
  *nowhere = 1;
  return 0;
}

void FreeInHostFunction(void*) {
  std::printf("cuMemFree in a host function: %d\n", static_cast<int>(cuMemFree(blocks[2])));
}

int CallbackFree(bool held) {
  if (held) Park(200);
  OK(cuLaunchHostFunc(stream, FreeInHostFunction, nullptr));
  for (const CUdeviceptr block : blocks) {
    if (block != blocks[2]) Add(block, kBlockWords, 1, stream);
  }
  OK(cuStreamSynchronize(stream));
  return 7;
}

// Stopped by somebody else, and let go on.
int Stop() {
  Park(100);
  const pid_t me = getpid();
  const pid_t child = fork();
  if (child == 0) {
    usleep(150000);
    kill(me, SIGSTOP);
    usleep(700000);
    kill(me, SIGCONT);
    _exit(0);
  }
  for (int round = 0; round < 4; ++round) AddToAll(blocks, stream);
  OK(cuCtxSynchronize());
  waitpid(child, nullptr, 0);
  return 7;
}

const std::map<std::string, int (*)()>& Ways() {
  static const auto* const ways = new std::map<std::string, int (*)()>{
      {"exit", [] { return Park(300), exit(7), 0; }},
      {"exit_never", [] { return Park(1000000), exit(7), 0; }},
      {"_exit", [] { return Park(100), _exit(7), 0; }},
      {"quick_exit", [] { return Park(300), quick_exit(7), 0; }},
      {"return", [] { return Park(200), 7; }},
      {"thread_exit", [] { return Park(200), std::thread([] { exit(7); }).join(), 0; }},
      {"abort", [] { return Park(200), std::abort(), 0; }},
      {"segv", Fault},
      {"reset", Reset},
      {"release", [] { return Park(200), OK(cuDevicePrimaryCtxRelease(gpu.device)), 7; }},
      {"reset_again", ResetAgain},
      {"reset_beside", ResetBeside},
      {"callback_free", [] { return CallbackFree(false); }},
      {"callback_free_held", [] { return CallbackFree(true); }},
      {"stop", Stop},
  };
  return *ways;
}

}  // namespace

HOSTILE_PROGRAM(ends) {
  const auto way = Ways().find(argc > 1 ? argv[1] : "");
  if (way == Ways().end()) return 9;
  Start();
  blocks = Blocks(16);
  stream = MakeStream();
  page = new Page;
  for (int round = 0; round < 2; ++round) AddToAll(blocks, stream);
  OK(cuCtxSynchronize());
  // Once before, so that nothing is loaded while it waits.
  *page->word = 1;
  WaitAdd(page->address, blocks[0], 1, 1, stream);
  OK(cuStreamSynchronize(stream));
  *page->word = 0;
  return way->second();
}
