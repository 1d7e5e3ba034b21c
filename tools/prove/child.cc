#include "tools/prove/child.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/clean_text.h"

namespace vramspan::prove {
namespace {

// No program that does its work comes near to this.
constexpr rlim_t kMostOutput = rlim_t{16} << 30;
constexpr size_t kMostSaid = 200;
constexpr int kAboveThose = 10;

// An open file without a name, in the folder for temporary files.
class NamelessFile {
 public:
  NamelessFile() {
    std::error_code error;
    std::filesystem::path folder = std::filesystem::temp_directory_path(error);
    if (error) folder = "/tmp";
    std::string path = folder / "vramspan-prove-XXXXXX";
    const int low = mkostemp(path.data(), O_CLOEXEC);
    if (low >= 0) {
      unlink(path.c_str());
      // None of the numbers that a child has: old C libraries would close it there.
      fd_ = fcntl(low, F_DUPFD_CLOEXEC, kAboveThose);
      close(low);
    }
    if (fd_ < 0) {
      why_ = absl::StrCat("no file can be made in ", folder.string(), ": ", std::strerror(errno));
    }
  }
  ~NamelessFile() {
    if (fd_ >= 0) close(fd_);
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  int fd() const { return fd_; }
  Status status() const {
    return why_.empty() ? absl::OkStatus() : absl::FailedPreconditionError(why_);
  }
  Status Write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t wrote = write(fd_, bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        return absl::FailedPreconditionError(
            absl::StrCat("a temporary file could not be written: ", std::strerror(errno)));
      }
      bytes.remove_prefix(static_cast<size_t>(wrote));
    }
    return absl::OkStatus();
  }
  std::string FirstLine() const {
    std::string text(kMostSaid, '\0');
    const ssize_t got = pread(fd_, text.data(), text.size(), 0);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    text.resize(std::min(text.find('\n'), text.size()));
    return CleanText(text);
  }

 private:
  int fd_ = -1;
  std::string why_;
};

int Spawn(const std::vector<std::string>& program, int input, int out, int err,
          std::chrono::seconds most_work, pid_t* child) {
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
  const auto most = static_cast<rlim_t>(most_work.count());
  const rlimit seconds = {most, most}, bytes = {kMostOutput, kMostOutput};
  prlimit(*child, RLIMIT_CPU, &seconds, nullptr);
  prlimit(*child, RLIMIT_FSIZE, &bytes, nullptr);
  return 0;
}

}  // namespace

StatusOr<MappedFile> OutputOf(const std::vector<std::string>& program, std::string_view input,
                              std::chrono::seconds most_work) {
  const NamelessFile in, out, err;
  for (const NamelessFile* file : {&in, &out, &err}) VS_RETURN_IF_ERROR(file->status());
  VS_RETURN_IF_ERROR(in.Write(input));
  pid_t child = 0;
  const int error = Spawn(program, in.fd(), out.fd(), err.fd(), most_work, &child);
  if (error != 0) {
    const std::string why = absl::StrCat("cannot run ", program[0], ": ", std::strerror(error));
    return error == ENOENT ? absl::NotFoundError(why) : absl::FailedPreconditionError(why);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::FailedPreconditionError("a child's end is not to be seen");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return MappedFile::Of(out.fd(), program[0]);
  const std::string said = err.FirstLine();
  return absl::FailedPreconditionError(absl::StrCat(
      program[0].substr(program[0].rfind('/') + 1), ": ",
      !said.empty()         ? said
      : WIFSIGNALED(status) ? absl::StrCat("it was ended by signal ", WTERMSIG(status))
                            : absl::StrCat("it ended with status ", WEXITSTATUS(status))));
}

}  // namespace vramspan::prove
