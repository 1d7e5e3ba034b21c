#include "tools/vramspan/run_program.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>

#include "tools/vramspan/program_file.h"

namespace vramspan {
namespace {

// A signal is ignored while this lives; a child gets back what was set before.
class Ignored {
 public:
  explicit Ignored(int signal) : signal_(signal) {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(signal, &ignore, &before_);
  }
  ~Ignored() { Restore(); }
  Ignored(const Ignored&) = delete;
  Ignored& operator=(const Ignored&) = delete;
  void Restore() const { sigaction(signal_, &before_, nullptr); }

 private:
  const int signal_;
  struct sigaction before_ = {};
};

// The process and all that it and its children started, as far as Linux tells.
std::vector<pid_t> WithDescendants(pid_t process) {
  std::vector<pid_t> all = {process};
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string tasks = absl::StrCat("/proc/", all[i], "/task");
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
      std::ifstream children(task.path() / "children");
      for (pid_t child = 0; children >> child;) all.push_back(child);
    }
  }
  return all;
}

// While this lives, what a child leaves behind is this process's child, and can be ended.
class Orphans {
 public:
  Orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L); }
  ~Orphans() { prctl(PR_SET_CHILD_SUBREAPER, 0L, 0L, 0L, 0L); }
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;
};

// Waits for the child, and has it and all that it started end once there is `enough`: by itself, or
// else by signals. False where nothing is left but to wait for it.
bool EndsBy(pid_t child, const std::function<bool()>& enough, int* status) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{10};
  constexpr std::chrono::milliseconds kStep{20};
  std::optional<Clock::time_point> until;  // The next signal.
  bool ended = false;
  constexpr int kNone = 0;  // What was killed takes a moment to go.
  for (const int signal : {SIGINT, SIGTERM, SIGKILL, kNone}) {
    while (until.has_value() ? Clock::now() < *until : !enough()) {
      // One that ends by itself may leave behind what it likes.
      for (int other = 0;;) {
        const pid_t one = waitpid(until.has_value() ? -1 : child, &other, WNOHANG);
        if (one <= 0) break;
        if (one != child) continue;
        *status = other;
        ended = true;
        if (!until.has_value()) return true;
      }
      if (ended && WithDescendants(getpid()).size() == 1) return true;
      std::this_thread::sleep_for(kStep);
    }
    for (const pid_t process : WithDescendants(getpid())) {
      if (process != getpid()) kill(process, signal);
    }
    until = Clock::now() + kPatience;
  }
  return ended;
}

}  // namespace

StatusOr<int> RunProgram(const std::vector<std::string>& program,
                         const std::vector<std::pair<std::string, std::string>>& environment,
                         const std::function<bool()>& enough) {
  // Everything that allocates comes before the fork.
  std::vector<char*> argv;
  for (const std::string& argument : program) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    return absl::UnavailableError(absl::StrCat("no pipe: ", std::strerror(errno)));
  }
  const Ignored interrupt(SIGINT), quit(SIGQUIT);
  std::optional<Orphans> orphans;
  if (enough != nullptr) orphans.emplace();
  const pid_t child = fork();
  if (child == 0) {
    interrupt.Restore();
    quit.Restore();
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(argv[0], argv.data());
    const int error = errno;
    const ssize_t ignored = write(failure[1], &error, sizeof(error));
    _exit(ignored == sizeof(error) ? kExitNotRunnable : kExitNotFound);
  }
  close(failure[1]);
  int error = child < 0 ? errno : 0;
  if (child > 0 && read(failure[0], &error, sizeof(error)) != sizeof(error)) error = 0;
  close(failure[0]);
  int status = 0;
  if (child > 0 && (enough == nullptr || !EndsBy(child, enough, &status))) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (error != 0) {
    const std::string text =
        absl::StrCat("cannot run ", program[0], ": ", run::WhyNotRun(program[0], error));
    return error == ENOENT ? absl::NotFoundError(text) : absl::FailedPreconditionError(text);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace vramspan
