// Signals that the program means for itself: `signals masks` looks at whom they could reach,
// `signals sigwait` waits for one, `signals timers` has many come while it works.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

std::atomic<int> ticks{0}, strangers{0};

void Tick(int) {
  ++ticks;
  if (syscall(SYS_gettid) != getpid()) ++strangers;
}

// Threads that are neither main nor the driver's, and take SIGUSR1, SIGTERM or SIGCHLD.
int Open() {
  constexpr unsigned long long kTaken = 1ull << 9 | 1ull << 14 | 1ull << 16;
  int open = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(getpid())) continue;
    std::ifstream comm(task.path() / "comm"), status(task.path() / "status");
    std::string name, word;
    std::getline(comm, name);
    unsigned long long blocked = 0;
    while (status >> word) {
      if (word == "SigBlk:") status >> std::hex >> blocked;
    }
    open += !name.starts_with("simcuda") && (blocked & kTaken) != kTaken;
  }
  return open;
}

bool SigWait() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  kill(getpid(), SIGTERM);
  usleep(100000);
  const timespec patience{2, 0};
  return sigtimedwait(&set, nullptr, &patience) == SIGTERM;
}

}  // namespace

HOSTILE_PROGRAM(signals) {
  const std::string how = argv[1];
  sigset_t all, before;
  sigfillset(&all);
  // The driver's threads are made with all blocked; what is made later is not.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Start();
  Nothing(0, nullptr);
  OK(cuCtxSynchronize());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const auto blocks = Blocks(24);
  const CUstream stream = MakeStream();
  const auto work = [&](int rounds) {
    for (int r = 0; r < rounds; ++r) AddToAll(blocks, stream);
    OK(cuStreamSynchronize(stream));
  };
  Word rounds = 2;
  work(static_cast<int>(rounds));
  if (how == "masks") {
    std::printf("%d threads take the program's signals\n", Open());
  } else if (how == "sigwait") {
    std::printf("got SIGTERM: %d\n", SigWait());
  } else {
    struct sigaction action {};
    action.sa_handler = Tick;  // Without SA_RESTART.
    sigaction(SIGALRM, &action, nullptr);
    sigaction(SIGPROF, &action, nullptr);
    const itimerval often{{0, 500}, {0, 500}}, never{};
    setitimer(ITIMER_REAL, &often, nullptr);
    setitimer(ITIMER_PROF, &often, nullptr);
    for (; ticks < 20; ++rounds) work(1);
    setitimer(ITIMER_REAL, &never, nullptr);
    setitimer(ITIMER_PROF, &never, nullptr);
    usleep(10000);
    std::printf("on other threads %d\n", strangers.load());
  }
  std::printf("%zu words are wrong\n", WrongWords(blocks[0], rounds));
  return 0;
}
