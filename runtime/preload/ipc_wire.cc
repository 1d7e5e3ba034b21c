#include "runtime/preload/ipc_wire.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/units.h"

namespace vramspan::preload {
namespace {

// More than are ever sent in one packet, so that what a stranger sends can be closed.
constexpr size_t kMostDescriptors = 16;
// The driver reserves no more at once.
constexpr uint64_t kMostBytes = uint64_t{1} << 46;

Status SocketError(const char* what, int error) {
  if (error == EAGAIN)
    return absl::DeadlineExceededError("the other process stopped in the middle");
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(error)));
}

// Of a user namespace: where they differ, equal numbers of users may be different people.
bool InOtherNamespace(pid_t process) {
  struct stat own {
  }, other{};
  const std::string path = absl::StrCat("/proc/", process, "/ns/user");
  if (stat("/proc/self/ns/user", &own) != 0 || stat(path.c_str(), &other) != 0) return false;
  return own.st_ino != other.st_ino || own.st_dev != other.st_dev;
}

// No call on the socket takes longer; then it fails.
Status SetTimeout(int socket, std::chrono::seconds timeout) {
  const timeval time{static_cast<time_t>(timeout.count()), 0};
  for (const int side : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (setsockopt(socket, SOL_SOCKET, side, &time, sizeof(time)) != 0) {
      return SocketError("setsockopt", errno);
    }
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t CheckOf(const IpcHandle& handle) {
  // FNV-1a: against accidents. Against others there is the secret.
  uint64_t hash = 0xcbf29ce484222325;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&handle);
  for (size_t i = 0; i < offsetof(IpcHandle, check); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

CUipcMemHandle ToCuda(const IpcHandle& handle) {
  CUipcMemHandle cuda;
  std::memcpy(&cuda, &handle, sizeof(cuda));
  return cuda;
}

IpcHandle FromCuda(const CUipcMemHandle& handle) {
  IpcHandle ours;
  std::memcpy(static_cast<void*>(&ours), &handle, sizeof(ours));
  return ours;
}

Status CheckAnswer(const IpcHandle& handle, const IpcAnswer& answer) {
  if (answer.magic != kIpcMagic) return absl::DataLossError("the answer is not vramspan's");
  if (answer.pieces == 0) return absl::NotFoundError("the allocation was freed, or never existed");
  const bool sound = answer.bytes <= kMostBytes && answer.bytes % kGranularity.value == 0 &&
                     answer.pieces <= answer.bytes / kGranularity.value &&
                     answer.offset < answer.bytes && handle.size <= answer.bytes - answer.offset;
  return sound ? absl::OkStatus() : absl::DataLossError("the answer is damaged");
}

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) close(fd_);
    fd_ = other.Give();
  }
  return *this;
}

int OwnedFd::Give() { return std::exchange(fd_, -1); }

IpcAddress AddressOf(int32_t process, uint64_t socket) {
  IpcAddress address;
  address.name.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.name.sun_path + 1, sizeof(address.name.sun_path) - 1,
                    "vramspan-ipc-%d-%016llx", process, static_cast<unsigned long long>(socket));
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
  return address;
}

Status FillRandom(void* data, size_t size) {
  const ssize_t got = getrandom(data, size, 0);
  if (got == static_cast<ssize_t>(size)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("getrandom: ", std::strerror(errno)));
}

StatusOr<OwnedFd> ConnectTo(const IpcAddress& address, std::chrono::seconds patience) {
  OwnedFd peer(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (peer.get() < 0) return SocketError("socket", errno);
  VS_RETURN_IF_ERROR(SetTimeout(peer.get(), patience));
  int connected;
  do {
    connected = connect(peer.get(), reinterpret_cast<const sockaddr*>(&address.name), address.size);
  } while (connected != 0 && errno == EINTR);
  if (connected != 0) return SocketError("connect", errno);
  return peer;
}

Status CheckPeer(int socket, pid_t* process) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return SocketError("getsockopt", errno);
  }
  if (peer.uid != geteuid()) {
    return absl::PermissionDeniedError(
        absl::StrFormat("process %d belongs to user %d", peer.pid, peer.uid));
  }
  if (peer.pid != 0 && InOtherNamespace(peer.pid)) {
    return absl::PermissionDeniedError(
        absl::StrFormat("process %d is of another user namespace", peer.pid));
  }
  if (process != nullptr) *process = peer.pid;
  return absl::OkStatus();
}

Status SendPacket(int socket, const void* data, size_t size, int fd, int flags) {
  iovec part{const_cast<void*>(data), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size) ? absl::OkStatus() : SocketError("sendmsg", errno);
}

Status ReceivePacket(int socket, void* data, size_t size, OwnedFd* fd, int flags) {
  iovec part{data, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return SocketError("recvmsg", errno);
  std::array<OwnedFd, kMostDescriptors> came;
  size_t count = 0;
  for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
    const size_t here = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < here && count < came.size(); ++i) {
      int one = -1;
      std::memcpy(&one, CMSG_DATA(h) + i * sizeof(int), sizeof(one));
      came[count++] = OwnedFd(one);
    }
  }
  if (got == 0) return absl::UnavailableError("the other process has closed the connection");
  const bool whole = static_cast<size_t>(got) == size &&
                     (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
                     count == (fd != nullptr ? 1 : 0);
  if (!whole) return absl::DataLossError("a message is damaged");
  if (fd != nullptr) *fd = std::move(came[0]);
  return absl::OkStatus();
}

}  // namespace vramspan::preload
