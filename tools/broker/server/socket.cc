#include "tools/broker/server/socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>

#include "tools/broker/server/hang_up.h"
#include "tools/broker/server/system_error.h"

namespace vramspan::broker {
namespace {

// What the kernel keeps of those who were not accepted yet.
constexpr int kBacklog = 128;
constexpr size_t kMostDescriptors = 2;
constexpr int kPassRights = 83;  // SO_PASSRIGHTS, of Linux 6.16.

// One datagram. With MSG_PEEK it stays, and so does the only hold of what came with it.
Received Take(int socket, std::span<uint8_t> buffer, int flags) {
  iovec vector = {.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  // No room for descriptors: of those only MSG_CTRUNC tells.
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  do {
    size = recvmsg(socket, &message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  Received received;
  if (size < 0) {
    const bool nothing = errno == EAGAIN || errno == EWOULDBLOCK;
    received.kind = nothing ? Received::Kind::kNothing : Received::Kind::kEnd;
    return received;
  }
  bool sent = false;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials = {};
    memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
    received.pid = credentials.pid;
    sent = true;
  }
  received.size = static_cast<size_t>(size);
  // An end has no sender. A datagram may be empty.
  received.kind = size == 0 && !sent ? Received::Kind::kEnd : Received::Kind::kDatagram;
  if ((message.msg_flags & MSG_CTRUNC) != 0) received.kind = Received::Kind::kDescriptors;
  return received;
}

Fd OpenSpare() { return Fd(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

Spare::Spare() : fd_(OpenSpare()) {}

void Spare::TurnAway(int listening) {
  fd_.Reset();
  HangUp(Fd(accept4(listening, nullptr, nullptr, SOCK_CLOEXEC)));
  fd_ = OpenSpare();
}

StatusOr<Fd> ListenAt(const std::string& path, mode_t mode) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": a socket's path has at most ",
                                                   sizeof address.sun_path - 1,
                                                   " bytes; use a shorter run directory"));
  }
  memcpy(address.sun_path, path.data(), path.size());
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return SystemError("socket");
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError(path);
  // Never by its path afterwards: that may be another's by then.
  const mode_t mask = umask(~mode & 0777);
  const int bound = bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  umask(mask);
  if (bound != 0) return SystemError(path, error);
  VS_RETURN_IF_ERROR(BeginToListen(socket.get(), path));
  return socket;
}

Status BeginToListen(int socket, const std::string& path) {
  const int on = 1;
  // Sockets that are accepted inherit it.
  if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return SystemError("SO_PASSCRED");
  }
  const int off = 0;
  if (setsockopt(socket, SOL_SOCKET, kPassRights, &off, sizeof off) != 0 && errno != ENOPROTOOPT) {
    return SystemError("SO_PASSRIGHTS");
  }
  return listen(socket, kBacklog) == 0 ? absl::OkStatus() : SystemError(path);
}

Sent Send(int socket, std::span<const uint8_t> datagram, std::initializer_list<int> descriptors) {
  iovec vector = {.iov_base = const_cast<uint8_t*>(datagram.data()), .iov_len = datagram.size()};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  const size_t count = std::min(descriptors.size(), kMostDescriptors);
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors.begin(), count * sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Sent::kSent;
  return errno == EAGAIN || errno == EWOULDBLOCK ? Sent::kFull : Sent::kGone;
}

Received Receive(int socket, std::span<uint8_t> buffer) {
  const Received next = Take(socket, buffer, MSG_PEEK);
  return next.kind == Received::Kind::kDatagram ? Take(socket, buffer, 0) : next;
}

}  // namespace vramspan::broker
