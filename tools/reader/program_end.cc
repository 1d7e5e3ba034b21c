#include "tools/reader/program_end.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/process_start.h"

namespace vramspan::reader {
namespace {

// No C library that is old enough has a function for it.
int OpenProcess(pid_t program) { return static_cast<int>(syscall(SYS_pidfd_open, program, 0)); }

}  // namespace

ProgramEnd::ProgramEnd(pid_t program, std::optional<uint64_t> start)
    : program_(program), start_(start), fd_(OpenProcess(program)) {}

ProgramEnd::~ProgramEnd() {
  if (fd_ >= 0) close(fd_);
}

bool ProgramEnd::Ended() const {
  if (kill(program_, 0) != 0 && errno == ESRCH) return true;
  // Its number alone is left of a zombie, or it is another's by now.
  if (start_.has_value() && ProcessStart(program_) != start_) return true;
  pollfd ended = {fd_, POLLIN, 0};
  return fd_ >= 0 && poll(&ended, 1, 0) > 0;
}

}  // namespace vramspan::reader
