#include "tools/prove/child.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tools/prove/nameless_file.h"

namespace vramspan::prove {
namespace {

void Limit(pid_t child, decltype(RLIMIT_CPU) what, uint64_t most) {
  const rlimit limit = {most, most};
  prlimit(child, what, &limit, nullptr);
}

int Spawn(const std::vector<std::string>& program, int input, int out, int err,
          const ChildLimits& limits, pid_t* child) {
  std::vector<char*> argv;
  for (const std::string& word : program) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, input, 3);
  const int error = posix_spawnp(child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return error;
  Limit(*child, RLIMIT_CPU, static_cast<uint64_t>(limits.work.count()));
  Limit(*child, RLIMIT_FSIZE, limits.output);
  if (limits.memory != 0) Limit(*child, RLIMIT_AS, limits.memory);
  return 0;
}

// Ends a child whose time is over. Without it the child is waited for, however long.
class Deadline {
 public:
  Deadline(pid_t child, std::chrono::milliseconds time)
      : child_(child), end_(std::chrono::steady_clock::now() + time), any_(time.count() == 0) {}

  // Whether it came: the child is still to be waited for.
  bool Comes() const {
    if (any_) return false;
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, child_, 0));
    bool ended = false;
    for (auto left = Left(); !ended && left.count() > 0; left = Left()) {
      // Where the kernel has none of these, it looks.
      pollfd ends = {fd, POLLIN, 0};
      poll(&ends, 1, static_cast<int>(fd < 0 ? std::min(left, kLooks).count() : left.count()));
      ended = HasEnded();
    }
    if (fd >= 0) close(fd);
    if (!ended) kill(child_, SIGKILL);
    return !ended;
  }

 private:
  static constexpr std::chrono::milliseconds kLooks{20};

  std::chrono::milliseconds Left() const {
    return std::chrono::ceil<std::chrono::milliseconds>(end_ - std::chrono::steady_clock::now());
  }
  bool HasEnded() const {
    siginfo_t info = {};
    const int got = waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT);
    return got != 0 ? errno != EINTR : info.si_pid == child_;
  }

  const pid_t child_;
  const std::chrono::steady_clock::time_point end_;
  const bool any_;
};

std::string WhyEnded(int status, bool late) {
  if (late) return "it took too long";
  if (WIFSIGNALED(status)) return absl::StrCat("it was ended by signal ", WTERMSIG(status));
  return absl::StrCat("it ended with status ", WEXITSTATUS(status));
}

}  // namespace

StatusOr<MappedFile> OutputOf(const std::vector<std::string>& program, std::string_view input,
                              const ChildLimits& limits) {
  const NamelessFile in(limits.in_memory), out(limits.in_memory), err(limits.in_memory);
  for (const NamelessFile* file : {&in, &out, &err}) VS_RETURN_IF_ERROR(file->status());
  VS_RETURN_IF_ERROR(in.Write(input));
  pid_t child = 0;
  const int error = Spawn(program, in.fd(), out.fd(), err.fd(), limits, &child);
  if (error != 0) {
    const std::string why = absl::StrCat("cannot run ", program[0], ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(why) : absl::FailedPreconditionError(why);
  }
  const bool late = Deadline(child, limits.time).Comes();
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::FailedPreconditionError("a child's end is not to be seen");
  }
  const std::string name = program[0].substr(program[0].rfind('/') + 1);
  // nvdisasm ends well though it could not write.
  if (!late && out.MayBeCut(limits.output)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no room in ", out.place(), " for what ", name, " prints"));
  }
  if (!late && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return MappedFile::Of(out.fd(), program[0]);
  }
  const std::string said = err.FirstLine();
  return absl::FailedPreconditionError(
      absl::StrCat(name, ": ", said.empty() || late ? WhyEnded(status, late) : said));
}

}  // namespace vramspan::prove
