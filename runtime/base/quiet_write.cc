#include "runtime/base/quiet_write.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

#include "runtime/base/file_identity.h"

namespace vramspan {
namespace {

constexpr int kSignals[] = {SIGPIPE, SIGXFSZ, SIGTTOU};

using Clock = std::chrono::steady_clock;
using Pieces = std::array<iovec, 4>;

// Of a pipe that can be written to so much never waits; poll asks for the room.
ssize_t WriteSome(int descriptor, mode_t kind, const iovec* pieces, int count) {
  if (kind == S_IFSOCK) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces);
    message.msg_iovlen = static_cast<size_t>(count);
    return sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  if (kind != S_IFIFO) return writev(descriptor, pieces, count);
  // Another thread may have taken the room since. Not every kernel can say so.
  const ssize_t wrote = pwritev2(descriptor, pieces, count, -1, RWF_NOWAIT);
  if (wrote >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)) return wrote;
  const iovec first{pieces->iov_base, std::min<size_t>(pieces->iov_len, PIPE_BUF)};
  size_t all = 0;
  for (int i = 0; i < count; ++i) all += pieces[i].iov_len;
  return all <= PIPE_BUF ? writev(descriptor, pieces, count) : writev(descriptor, &first, 1);
}

// 0 when it takes something, else EAGAIN.
int AwaitRoom(int descriptor, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd room{descriptor, POLLOUT, 0};
    const int ready = poll(&room, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    // A reader that has gone is found out by the write.
    if (ready > 0) return 0;
    if (ready == 0 || errno != EINTR || Clock::now() >= until) return EAGAIN;
  }
}

}  // namespace

QuietWrites::QuietWrites() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  sigpending(&pending_);
  pthread_sigmask(SIG_BLOCK, &set, &before_);
}

QuietWrites::~QuietWrites() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void QuietWrites::Failed(int error) {
  const int signal = error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
  // One that was pending before is the program's, and only one can be.
  if (signal == 0 || sigismember(&pending_, signal) == 1) return;
  const int kept = errno;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  const timespec none{};
  while (sigtimedwait(&set, nullptr, &none) < 0 && errno == EINTR) {
  }
  errno = kept;
}

int WriteQuietly(int descriptor, std::initializer_list<std::string_view> pieces,
                 std::chrono::milliseconds patience) {
  const int kept = errno;
  Pieces left{};
  int count = 0;
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) left[count++] = {const_cast<char*>(piece.data()), piece.size()};
  }
  const mode_t kind = FileIdentity::Of(descriptor).kind;
  const auto until = Clock::now() + patience;
  QuietWrites quiet;
  int error = 0;
  for (iovec* first = left.data(); count > 0 && error == 0;) {
    error = AwaitRoom(descriptor, until);
    if (error != 0) break;
    ssize_t wrote = WriteSome(descriptor, kind, first, count);
    if (wrote < 0) {
      error = errno == EINTR || (errno == EAGAIN && Clock::now() < until) ? 0 : errno;
      quiet.Failed(error);
      continue;
    }
    for (; count > 0 && static_cast<size_t>(wrote) >= first->iov_len; ++first, --count) {
      wrote -= static_cast<ssize_t>(first->iov_len);
    }
    if (count > 0) {
      first->iov_base = static_cast<char*>(first->iov_base) + wrote;
      first->iov_len -= static_cast<size_t>(wrote);
    }
  }
  errno = kept;
  return error;
}

}  // namespace vramspan
