#include "tools/vramspan/reader_start.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/api/tracer.h"
#include "runtime/api/tracing.h"
#include "runtime/base/log.h"
#include "runtime/base/process_start.h"
#include "runtime/base/yes_no.h"
#include "tools/reader/exchange.h"

namespace vramspan::run {
namespace {

constexpr int kLeastNice = 19;
// Of a reader, beside its standard files, until it is a program of its own.
constexpr int kFailure = 3;
constexpr unsigned kMostDescriptors = 1u << 16;

void CloseFrom(unsigned first) {
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  const long most = sysconf(_SC_OPEN_MAX);
  const unsigned end = most < 0 ? kMostDescriptors : static_cast<unsigned>(most);
  for (unsigned fd = first; fd < end && fd < kMostDescriptors; ++fd) close(static_cast<int>(fd));
}

// What `vramspan` is started with, and how. Made before any fork.
class ReaderProgram {
 public:
  explicit ReaderProgram(const std::string& folder) {
    const std::optional<uint64_t> start = ProcessStart(getpid());
    words_ = {"vramspan", kReaderCommand, folder, absl::StrCat(getpid())};
    if (start.has_value()) words_.push_back(absl::StrCat(*start));
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    for (char** variable = environ; *variable != nullptr; ++variable) {
      // nvdisasm is no program of CUDA's, and what it loads is nobody's business.
      if (!absl::StartsWith(*variable, "LD_PRELOAD=") &&
          !absl::StartsWith(*variable, "VRAMSPAN_")) {
        variables_.push_back(*variable);
      }
    }
    variables_.push_back(nullptr);
  }

  // Becomes it. Writes errno to `failure` where it cannot. Nothing here allocates.
  [[noreturn]] void Become(int failure) const {
    if (failure != kFailure) dup2(failure, kFailure);
    fcntl(kFailure, F_SETFD, FD_CLOEXEC);
    const int nothing = open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, fd);
    CloseFrom(kFailure + 1);
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction usual = {};
      usual.sa_handler = SIG_DFL;
      sigaction(signal, &usual, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setpriority(PRIO_PROCESS, 0, kLeastNice);
    // It keeps no file system busy.
    if (chdir("/") == 0) execve("/proc/self/exe", arguments_.data(), variables_.data());
    const int error = errno;
    const ssize_t ignored = write(kFailure, &error, sizeof(error));
    _exit(ignored == sizeof(error) ? 1 : 2);
  }

 private:
  std::vector<std::string> words_;
  std::vector<char*> arguments_, variables_;
};

// The start of a grandchild whose parent has ended: 0, or why it is not there.
int StartOrphan(const ReaderProgram& program) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return errno;
  // As fork, but without a signal at its end: the program may wait for those of its own children.
  const auto between =
      static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  if (between == 0) {
    setsid();
    const pid_t reader = fork();
    if (reader == 0) program.Become(failure[1]);
    const int error = errno;
    if (reader < 0 && write(failure[1], &error, sizeof(error)) < 0) _exit(2);
    _exit(0);
  }
  int error = between < 0 ? errno : 0;
  close(failure[1]);
  while (between > 0 && waitpid(between, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  // Until it is a program of its own.
  if (between > 0 && read(failure[0], &error, sizeof(error)) != sizeof(error)) error = 0;
  close(failure[0]);
  return error;
}

// Why an orphan of this process would be its child again; null: it would not.
const char* KeepsOrphans() {
  int subreaper = 0;
  if (getpid() == 1) return "this is the first process of a container";
  if (prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0) == 0 && subreaper != 0) {
    return "this process waits for all below it";
  }
  return nullptr;
}

}  // namespace

bool ReadingMatters(const Plan& plan, const std::function<const char*(const char*)>& variable) {
  const auto setting = [&](const char* name) -> std::string {
    const auto planned = plan.find(name);
    if (planned != plan.end()) return planned->second;
    const char* const text = variable(name);
    return text == nullptr ? "" : text;
  };
  const auto is = [&](const char* name, bool by_default) {
    return ParseYesNo(setting(name)).value_or(by_default);
  };
  const std::string overlap = setting("VRAMSPAN_OVERLAP"), tracer = setting("VRAMSPAN_TRACER");
  const StatusOr<Overlap> how = ParseOverlap(overlap.empty() ? "auto" : overlap);
  const bool seen = tracer.empty() || tracer != "off";
  return plan.contains("LD_PRELOAD") && is(kReadVariable, true) && !is("VRAMSPAN_OFF", false) &&
         how.ok() && (*how == Overlap::kAuto || *how == Overlap::kProven) && seen;
}

std::unique_ptr<OwnFolder> StartReader() {
  std::string why;
  std::unique_ptr<OwnFolder> folder;
  if (const char* const keeps = KeepsOrphans()) {
    why = keeps;
  } else if (StatusOr<std::unique_ptr<OwnFolder>> made = OwnFolder::Make("vramspan run", "read");
             !made.ok()) {
    why = made.status().message();
  } else {
    folder = *std::move(made);
    const std::string path = std::filesystem::absolute(folder->path()).string();
    const Status ready = reader::MakeExchange(path);
    const int error = ready.ok() ? StartOrphan(ReaderProgram(path)) : 0;
    if (!ready.ok()) why = ready.message();
    if (error != 0) why = absl::StrCat("no process could be started: ", std::strerror(error));
  }
  if (why.empty()) return folder;
  Log(LogLevel::kInfo, absl::StrCat("no code is read while the program runs: ", why));
  return nullptr;
}

}  // namespace vramspan::run
