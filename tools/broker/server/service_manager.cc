#include "tools/broker/server/service_manager.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "runtime/base/digits.h"
#include "tools/broker/core/amounts.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/socket.h"

namespace vramspan::broker {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START
constexpr uint64_t kMostKept = 16;
// When a full queue is tried again. A choice.
constexpr Duration kAgain = std::chrono::milliseconds(100);

std::string TakeVariable(const char* name) {
  const char* const value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

std::string FileOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Under which a socket is kept: it tells which file it was bound to. One that was bound there by
// another broker since is another file. Empty: there is none.
std::string NameOf(const std::string& path) {
  struct stat found = {};
  if (lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return "";
  if (found.st_uid != geteuid()) return "";
  // A number may be used again, but not of a file of the same time.
  return absl::StrCat(FileOf(path), "-", found.st_dev, "-", found.st_ino, "-", found.st_mtim.tv_sec,
                      "-", found.st_mtim.tv_nsec);
}

int Option(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool ListensAt(int socket, const std::string& path) {
  if (Option(socket, SO_DOMAIN) != AF_UNIX || Option(socket, SO_TYPE) != SOCK_SEQPACKET ||
      Option(socket, SO_ACCEPTCONN) != 1) {
    return false;
  }
  sockaddr_un address = {};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  const size_t length = size - offsetof(sockaddr_un, sun_path);
  return size > offsetof(sockaddr_un, sun_path) && length <= sizeof address.sun_path &&
         path == std::string_view(address.sun_path, strnlen(address.sun_path, length));
}

}  // namespace

ServiceManager::ServiceManager() : notify_(TakeVariable("NOTIFY_SOCKET")) {
  const std::string pid = TakeVariable("LISTEN_PID"), count = TakeVariable("LISTEN_FDS");
  const std::vector<std::string> names = absl::StrSplit(TakeVariable("LISTEN_FDNAMES"), ':');
  uint64_t of = 0, fds = 0;
  // Variables that are another process's were handed down by mistake.
  if (!ParseDigits(pid, &of) || of != static_cast<uint64_t>(getpid())) return;
  if (!ParseDigits(count, &fds) || fds > kMostKept) return;
  for (uint64_t i = 0; i < fds; ++i) {
    const int fd = kFirst + static_cast<int>(i);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) continue;
    kept_.push_back({i < names.size() ? names[i] : "", Fd(fd)});
  }
}

StatusOr<Fd> ServiceManager::ListenAt(const std::string& path, mode_t mode) {
  Fd kept = TakeKept(path);
  // Others of that file are let go before one is kept anew.
  for (Kept& other : kept_) {
    if (other.name.starts_with(FileOf(path) + "-")) Forget(other);
  }
  if (kept) return kept;
  return broker::ListenAt(path, mode);
}

Fd ServiceManager::TakeKept(const std::string& path) {
  const std::string name = NameOf(path);
  for (Kept& kept : kept_) {
    if (name.empty() || kept.name != name || !ListensAt(kept.fd.get(), path)) continue;
    const int flags = fcntl(kept.fd.get(), F_GETFL);
    if (flags < 0 || fcntl(kept.fd.get(), F_SETFL, flags | O_NONBLOCK) != 0) continue;
    // It is this process that listens from here on, for whoever asks.
    if (!BeginToListen(kept.fd.get(), path).ok()) continue;
    kept.name.clear();
    return std::move(kept.fd);
  }
  return Fd();
}

bool ServiceManager::Keep(const Fd& listening, const std::string& path) {
  const std::string name = NameOf(path);
  if (notify_.empty() || name.empty()) return false;
  return Send(absl::StrCat("FDSTORE=1\nFDNAME=", name), listening.get()) == Sent::kSent;
}

Status ServiceManager::Ready(Loop& loop) {
  for (Kept& kept : kept_) Forget(kept);
  if (notify_.empty()) return absl::OkStatus();
  VS_RETURN_IF_ERROR(again_.Start(loop, [this] { SayReady(); }));
  SayReady();
  return absl::OkStatus();
}

// A unit of the type notify waits for this word, and is ended without it.
void ServiceManager::SayReady() {
  const Sent sent = Send("READY=1");
  if (sent == Sent::kFull) again_.Set(After(Now(), kAgain));
  if (sent == Sent::kNot) {
    Journal::Say("NOTIFY_SOCKET: nobody could be told that the broker is ready");
  }
  if (sent == Sent::kFull && !std::exchange(said_full_, true)) {
    Journal::Say("NOTIFY_SOCKET: it is full, so that the broker is ready is told later");
  }
}

void ServiceManager::Forget(Kept& kept) const {
  if (!kept.fd) return;
  Journal::Say(
      absl::StrCat("a descriptor '", kept.name, "' that systemd kept is not this broker's"));
  kept.fd.Reset();
  // A name that is none of these may be another's, of the unit.
  const bool ours = kept.name.starts_with("broker.sock-") || kept.name.starts_with("control.sock-");
  if (ours) Send(absl::StrCat("FDSTOREREMOVE=1\nFDNAME=", kept.name));
}

ServiceManager::Sent ServiceManager::Send(std::string_view text, int descriptor) const {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (notify_.empty() || notify_.size() >= sizeof address.sun_path) return Sent::kNot;
  memcpy(address.sun_path, notify_.data(), notify_.size());
  if (notify_[0] == '@') address.sun_path[0] = '\0';
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  iovec vector = {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  msghdr message = {};
  message.msg_name = &address;
  message.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + notify_.size());
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  if (!socket) return Sent::kNot;
  if (sendmsg(socket.get(), &message, MSG_NOSIGNAL) >= 0) return Sent::kSent;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? Sent::kFull : Sent::kNot;
}

}  // namespace vramspan::broker
