#include "tools/broker/control/ask.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "tools/broker/control/run_directory.h"

namespace vramspan::broker {
namespace {

constexpr size_t kMostOfAnAnswer = 256 << 10;
constexpr timeval kPatience = {.tv_sec = 10, .tv_usec = 0};

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

Status Failed(const std::string& what, int error) {
  const std::string text = absl::StrCat(what, ": ", std::generic_category().message(error));
  const bool nobody = error == ENOENT || error == ECONNREFUSED;
  return nobody ? absl::NotFoundError(text) : absl::FailedPreconditionError(text);
}

Status Connect(int socket, const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": it is too long for a socket's path"));
  }
  memcpy(address.sun_path, path.data(), path.size());
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return absl::OkStatus();
  }
  return Failed(path, errno);
}

Status ConnectToAny(int socket, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const Status connected = Connect(socket, folder + kControlSocket);
    if (!absl::IsNotFound(connected)) return connected;
  }
  return absl::NotFoundError(absl::StrCat("no broker is in ", absl::StrJoin(folders, " or "),
                                          "; start one with `vramspan broker serve`"));
}

}  // namespace

Status Ask(const std::string& run_directory, const std::string& request,
           const std::function<bool(const std::string&)>& take) {
  const Socket socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return Failed("socket", errno);
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (setsockopt(socket.get(), SOL_SOCKET, which, &kPatience, sizeof kPatience) != 0) {
      return Failed("setsockopt", errno);
    }
  }
  VS_RETURN_IF_ERROR(ConnectToAny(socket.get(), run_directory.empty()
                                                    ? RunDirectories()
                                                    : std::vector<std::string>{run_directory}));
  if (send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return Failed("the broker was not asked", errno);
  }
  std::string buffer(kMostOfAnAnswer, '\0');
  for (;;) {
    const ssize_t size = recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Failed("the broker does not answer", errno);
    if (size == 0) return absl::UnavailableError("the broker ended before it answered");
    if (!take(buffer.substr(0, static_cast<size_t>(size)))) return absl::OkStatus();
  }
}

}  // namespace vramspan::broker
