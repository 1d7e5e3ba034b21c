#include "tools/vramspan/reader_start.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sched.h>
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
constexpr unsigned kMostDescriptors = 1u << 16;
constexpr size_t kStack = size_t{64} << 10;

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

  // Becomes it, or returns why it cannot. Nothing here allocates.
  int Become() const {
    const int nothing = open("/dev/null", O_RDWR);
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
    setpriority(PRIO_PROCESS, 0, kLeastNice);
    // It keeps no file system busy.
    if (chdir("/") == 0) execve("/proc/self/exe", arguments_.data(), variables_.data());
    return errno;
  }

 private:
  std::vector<std::string> words_;
  std::vector<char*> arguments_, variables_;
};

// A grandchild whose parent ends at once. Both have this process's memory, and each is waited for
// until it ends or is another program: a copy of it would cost milliseconds, here and at each page
// that is written later.
class Orphan {
 public:
  explicit Orphan(const ReaderProgram& program) : program_(program) {}

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
    if (self->Clone(&Reader, &self->stack_of_reader_, SIGCHLD) < 0) self->failure_ = errno;
    return 0;
  }
  static int Reader(void* own) {
    auto* const self = static_cast<Orphan*>(own);
    self->failure_ = self->program_.Become();
    return 1;
  }

  const ReaderProgram& program_;
  volatile int failure_ = 0;
  Stack stack_of_between_, stack_of_reader_;
};

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
    const ReaderProgram program(path);
    const int error = ready.ok() ? std::make_unique<Orphan>(program)->Start() : 0;
    if (!ready.ok()) why = ready.message();
    if (error != 0) why = absl::StrCat("no process could be started: ", std::strerror(error));
  }
  if (why.empty()) return folder;
  Log(LogLevel::kInfo, absl::StrCat("no code is read while the program runs: ", why));
  return nullptr;
}

}  // namespace vramspan::run
