// Writes on threads of the program's, to what may be broken, full or stuck: a pipe whose reader has
// gone or sleeps, a stopped terminal, a file beyond RLIMIT_FSIZE. The program notices nothing: no
// SIGPIPE, SIGXFSZ or SIGTTOU is left behind, and none of its own is taken away.
#ifndef VRAMSPAN_RUNTIME_BASE_QUIET_WRITE_H_
#define VRAMSPAN_RUNTIME_BASE_QUIET_WRITE_H_

#include <chrono>
#include <csignal>
#include <initializer_list>
#include <string_view>

namespace vramspan {

// While it stands, the calling thread's writes raise none of those signals.
class QuietWrites {
 public:
  QuietWrites();
  ~QuietWrites();
  QuietWrites(const QuietWrites&) = delete;
  QuietWrites& operator=(const QuietWrites&) = delete;

  // A write failed so: what it has raised is taken back. Keeps errno.
  void Failed(int error);

 private:
  sigset_t before_, pending_;
};

// The pieces one behind the other, in one write where all fits (at most 4). Waits for a reader no
// longer than `patience` in all. 0, or what kept it from writing everything: EAGAIN is a reader
// that does not read. Allocates nothing. Keeps errno.
int WriteQuietly(int descriptor, std::initializer_list<std::string_view> pieces,
                 std::chrono::milliseconds patience);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_QUIET_WRITE_H_
