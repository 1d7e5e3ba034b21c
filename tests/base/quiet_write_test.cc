#include "runtime/base/quiet_write.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include "runtime/base/thread.h"

namespace vramspan {
namespace {

using std::chrono::milliseconds;

bool Pending(int signal) {
  sigset_t set;
  sigpending(&set);
  return sigismember(&set, signal) == 1;
}

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void Fill() const {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::string page(4096, 'x');
    while (write(ends[1], page.data(), page.size()) > 0) {
    }
    fcntl(ends[1], F_SETFL, 0);
  }
  std::string Read(size_t bytes) const {
    std::string text(bytes, '\0');
    const ssize_t got = read(ends[0], text.data(), bytes);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }
  int ends[2];
};

TEST(WriteQuietly, WritesAllPieces) {
  const Pipe pipe;
  EXPECT_EQ(WriteQuietly(pipe.ends[1], {"a", "", "bc", "\n"}, milliseconds(0)), 0);
  EXPECT_EQ(pipe.Read(10), "abc\n");
}

TEST(WriteQuietly, RaisesNoSigpipe) {
  const Pipe pipe;
  close(pipe.ends[0]);
  EXPECT_EQ(WriteQuietly(pipe.ends[1], {"nobody reads"}, milliseconds(0)), EPIPE);
  EXPECT_FALSE(Pending(SIGPIPE));
}

TEST(WriteQuietly, TheProgramsOwnSigpipeStaysPending) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  pthread_kill(pthread_self(), SIGPIPE);
  const Pipe pipe;
  close(pipe.ends[0]);
  EXPECT_EQ(WriteQuietly(pipe.ends[1], {"nobody reads"}, milliseconds(0)), EPIPE);
  EXPECT_TRUE(Pending(SIGPIPE));
  const timespec none{};
  EXPECT_EQ(sigtimedwait(&set, nullptr, &none), SIGPIPE);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(WriteQuietly, DoesNotWaitForAFullPipe) {
  const Pipe pipe;
  pipe.Fill();
  EXPECT_EQ(WriteQuietly(pipe.ends[1], {"no room"}, milliseconds(0)), EAGAIN);
}

TEST(WriteQuietly, WaitsForAReaderAsLongAsItMay) {
  const Pipe pipe;
  pipe.Fill();
  StatusOr<Thread> reader =
      StartThread("reads", [&] { EXPECT_EQ(pipe.Read(65536).size(), 65536); });
  ASSERT_TRUE(reader.ok()) << reader.status();
  const std::string text(3 * 4096 + 5, 'y');
  EXPECT_EQ(WriteQuietly(pipe.ends[1], {text}, std::chrono::seconds(20)), 0);
  reader->Join();
  EXPECT_EQ(pipe.Read(65536), text);
}

TEST(WriteQuietly, NeitherDoSocketsRaiseOrBlock) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  int error = 0;
  const std::string much(4096, 'x');
  for (int i = 0; i < 10'000 && error == 0; ++i) {
    error = WriteQuietly(ends[1], {much}, milliseconds(0));
  }
  EXPECT_EQ(error, EAGAIN);
  close(ends[0]);
  EXPECT_EQ(WriteQuietly(ends[1], {"gone"}, milliseconds(0)), EPIPE);
  EXPECT_FALSE(Pending(SIGPIPE));
  close(ends[1]);
}

TEST(WriteQuietly, RaisesNoSigxfsz) {
  char name[] = "/tmp/vramspan_quiet_test.XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit little{4, 4};
    setrlimit(RLIMIT_FSIZE, &little);
    const int error = WriteQuietly(fd, {"more than that"}, milliseconds(0));
    _exit(error == EFBIG && !Pending(SIGXFSZ) ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  close(fd);
  unlink(name);
}

}  // namespace
}  // namespace vramspan
