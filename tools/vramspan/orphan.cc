#include "tools/vramspan/orphan.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>

namespace vramspan::run {
namespace {

constexpr int kLeastNice = 19;
constexpr unsigned kMostDescriptors = 1u << 16;
constexpr size_t kStack = size_t{64} << 10;

void CloseFrom(unsigned first) {
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  const long most = sysconf(_SC_OPEN_MAX);
  const unsigned end = most < 0 ? kMostDescriptors : static_cast<unsigned>(most);
  for (unsigned fd = first; fd < end && fd < kMostDescriptors; ++fd) close(static_cast<int>(fd));
}

// Whatever the program has: where this cannot be it is as it was.
void BeLeast() {
  const sched_param usual = {};
  sched_setscheduler(0, SCHED_OTHER, &usual);
  setpriority(PRIO_PROCESS, 0, kLeastNice);
}

// Becomes the program, or returns why it cannot. Nothing here allocates.
int Become(char* const* arguments, char* const* variables) {
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0) return errno;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
  CloseFrom(STDERR_FILENO + 1);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction usual = {};
    usual.sa_handler = SIG_DFL;
    sigaction(signal, &usual, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  BeLeast();
  // It keeps none of the program's folders busy, but the file system of this very file.
  if (chdir("/") == 0) execve("/proc/self/exe", arguments, variables);
  return errno;
}

// A grandchild whose parent ends at once. Both have this process's memory, and each is waited for
// until it ends or is another program: a copy of it would cost milliseconds, here and at each page
// that is written later.
class Orphan {
 public:
  Orphan(char* const* arguments, char* const* variables)
      : arguments_(arguments), variables_(variables) {}

  // 0, or why it is not there.
  int Start() {
    // Without a signal at its end: the program may wait for those of its own children.
    const pid_t between = Clone(&Between, &stack_of_between_, 0);
    if (between < 0) return errno;
    while (waitpid(between, nullptr, __WALL) < 0 && errno == EINTR) {
    }
    return failure_;
  }

 private:
  struct alignas(64) Stack {
    char bytes[kStack];
  };

  pid_t Clone(int (*run)(void*), Stack* stack, int signal) {
    return clone(run, stack + 1, CLONE_VM | CLONE_VFORK | signal, this);
  }
  static int Between(void* own) {
    auto* const self = static_cast<Orphan*>(own);
    setsid();
    if (self->Clone(&Program, &self->stack_of_program_, SIGCHLD) < 0) self->failure_ = errno;
    return 0;
  }
  static int Program(void* own) {
    auto* const self = static_cast<Orphan*>(own);
    self->failure_ = Become(self->arguments_, self->variables_);
    return 1;
  }

  char* const* const arguments_;
  char* const* const variables_;
  volatile int failure_ = 0;
  Stack stack_of_between_, stack_of_program_;
};

}  // namespace

int StartOrphan(char* const* arguments, char* const* variables) {
  return std::make_unique<Orphan>(arguments, variables)->Start();
}

}  // namespace vramspan::run
