#include "tools/vramspan/run_program.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
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

// Waits for the child, and has it end once there is `enough`: by itself, or else by signals. False
// where nothing is left but to wait for it.
bool EndsBy(pid_t child, const std::function<bool()>& enough, int* status) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{10};
  constexpr std::chrono::milliseconds kStep{20};
  std::optional<Clock::time_point> until;  // The next signal.
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    while (until.has_value() ? Clock::now() < *until : !enough()) {
      const pid_t ended = waitpid(child, status, WNOHANG);
      if (ended == child) return true;
      if (ended < 0 && errno != EINTR) return false;
      std::this_thread::sleep_for(kStep);
    }
    for (const pid_t process : WithDescendants(child)) kill(process, signal);
    until = Clock::now() + kPatience;
  }
  return false;
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
