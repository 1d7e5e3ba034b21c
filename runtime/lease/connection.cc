#include "runtime/lease/connection.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace vramspan::lease {
namespace {

// A broker that reads nothing while so much is to be said will not read that either.
constexpr size_t kMostKept = 64;
// More than this is nothing that we were promised; the kernel drops what does not fit.
constexpr size_t kMostDescriptors = 8;

// Of processes with a table of descriptors that the system lets no thread leave.
constexpr size_t kMostInherited = 32;
std::array<std::atomic<OwnDescriptor*>, kMostInherited> inherited{};

void CloseInherited() {
  for (std::atomic<OwnDescriptor*>& socket : inherited) {
    if (OwnDescriptor* const one = socket.load()) one->Close();
  }
}

// Nobody is interrupted by a signal that would have waited.
int ConnectTo(int descriptor, const sockaddr_un& address) {
  int result = 0;
  do {
    result = connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result != 0 && errno == EINTR);
  return result;
}

Status CheckBroker(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return absl::PermissionDeniedError("the system does not say whose it is");
  }
  return MayTrust(peer.uid, geteuid());
}

StatusOr<int> OpenOne(const std::string& path) {
  const auto failed = [&](int error) {
    const std::string text = path + ": " + std::strerror(error);
    switch (error) {
      case ENOENT:
      case ENOTDIR:
      case ECONNREFUSED:
        return Status(absl::NotFoundError(text));
      case EAGAIN:
        return Status(absl::UnavailableError(text + ": more processes wait for it than it takes"));
      default:
        return Status(absl::FailedPreconditionError(text));
    }
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return failed(ENAMETOOLONG);
  std::memcpy(address.sun_path, path.data(), path.size());
  const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return failed(errno);
  Status status;
  if (ConnectTo(made, address) != 0) {
    status = failed(errno);
  } else if (const Status trusted = CheckBroker(made); !trusted.ok()) {
    status = Status(trusted.code(), path + ": " + std::string(trusted.message()));
  }
  if (status.ok()) return made;
  close(made);
  return status;
}

}  // namespace

Status MayTrust(uid_t peer, uid_t own) {
  if (peer == 0 || peer == own) return absl::OkStatus();
  return absl::PermissionDeniedError("it is of user " + std::to_string(peer) +
                                     ", and neither of root nor of this user");
}

StatusOr<int> Connection::Open(std::span<const std::string> sockets) {
  Status why = absl::NotFoundError("there is no place for one");
  for (const std::string& path : sockets) {
    const StatusOr<int> opened = OpenOne(path);
    if (opened.ok()) return opened;
    // One that is only busy is there: it is not passed over.
    if (absl::IsUnavailable(opened.status())) return opened;
    // What was found and is of no use says more than what is not there.
    if (&path == &sockets.front() || absl::IsNotFound(why)) why = opened.status();
  }
  return why;
}

Connection::~Connection() {
  if (place_ != kNoPlace) inherited[place_].store(nullptr);
}

void Connection::CloseInChildren() {
  static const int registered = pthread_atfork(nullptr, nullptr, &CloseInherited);
  static_cast<void>(registered);
  for (size_t i = 0; i < inherited.size() && place_ == kNoPlace; ++i) {
    OwnDescriptor* nobody = nullptr;
    if (inherited[i].compare_exchange_strong(nobody, &socket_)) place_ = i;
  }
}

void Connection::Adopt(int descriptor) { socket_.Adopt(descriptor); }

void Connection::Close() {
  socket_.Close();
  pages_.Drop();
  kept_.clear();
}

int Connection::TrySend(const Message& message) {
  const StatusOr<int> socket = socket_.Get();
  if (!socket.ok()) return -1;
  const auto bytes = Encode(message);
  while (true) {
    if (send(*socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return 1;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
  }
}

bool Connection::Send(const Message& message) {
  if (kept_.empty()) {
    const int sent = TrySend(message);
    if (sent != 0) return sent > 0;
  }
  // What it wants now is all that counts.
  if (message.type == Type::kWant) {
    std::erase_if(kept_, [](const Message& m) { return m.type == Type::kWant; });
  }
  if (kept_.size() == kMostKept) return false;
  kept_.push_back(message);
  return true;
}

bool Connection::Flush() {
  size_t sent = 0;
  int result = 1;
  while (sent < kept_.size() && (result = TrySend(kept_[sent])) > 0) ++sent;
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(sent));
  return result >= 0;
}

Connection::Reading Connection::Receive(Datagram* datagram) {
  const StatusOr<int> socket = socket_.Get();
  if (!socket.ok()) return Reading::kEnded;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMostDescriptors)];
  iovec buffer{datagram->bytes.data(), datagram->bytes.size()};
  msghdr header{};
  header.msg_iov = &buffer;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t size;
  do {
    size = recvmsg(*socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return errno == EAGAIN ? Reading::kNothing : Reading::kEnded;
  std::vector<int> descriptors;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const size_t before = descriptors.size();
    descriptors.resize(before + count);
    std::memcpy(descriptors.data() + before, CMSG_DATA(c), count * sizeof(int));
  }
  // Pages that are there already are not exchanged.
  datagram->pages = !descriptors.empty() && !pages_.mapped() && pages_.Take(descriptors);
  for (const int descriptor : descriptors) close(descriptor);
  // No message is empty: the other side has closed.
  if (size == 0) return Reading::kEnded;
  datagram->size = static_cast<size_t>(size);
  return Reading::kDatagram;
}

}  // namespace vramspan::lease
