#include "tools/broker/server/peer.h"

#include <absl/strings/strip.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "runtime/base/clean_text.h"
#include "runtime/base/small_file.h"
#include "tools/broker/server/system_error.h"
#include "tools/broker/words/cgroup.h"

namespace vramspan::broker {
namespace {

constexpr size_t kMostProcText = 16 << 10;
constexpr size_t kMostName = 64;
constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, which the C library's headers may not have.

StatusOr<Fd> PidfdOf(int socket, pid_t pid) {
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  if (getsockopt(socket, SOL_SOCKET, kPeerPidfd, &pidfd, &size) == 0) {
    return Fd(pidfd);
  }
  if (errno != ENOPROTOOPT) return SystemError("the process of a connection");
  pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return SystemError("pidfd_open");
  return Fd(pidfd);
}

}  // namespace

StatusOr<Peer> IdentifyPeer(int socket, const std::string& proc) {
  ucred credentials = {};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return SystemError("SO_PEERCRED");
  }
  if (credentials.pid <= 0) {
    return absl::FailedPreconditionError("its process is in another pid namespace");
  }
  Peer peer;
  peer.pid = credentials.pid;
  peer.uid = credentials.uid;
  VS_ASSIGN_OR_RETURN(peer.pidfd, PidfdOf(socket, peer.pid));
  const std::string folder = absl::StrCat("/", peer.pid, "/");
  VS_ASSIGN_OR_RETURN(const std::string cgroup,
                      ReadSmallFile(absl::StrCat(proc, folder, "cgroup"), kMostProcText));
  peer.cgroup = CgroupOf(cgroup);
  const StatusOr<std::string> name =
      ReadSmallFile(absl::StrCat("/proc", folder, "comm"), kMostProcText);
  if (name.ok()) peer.name = CleanText(absl::StripSuffix(*name, "\n"), kMostName);
  if (HasEnded(peer.pidfd)) return absl::FailedPreconditionError("its process is gone");
  return peer;
}

char ProcessState(pid_t pid) {
  const StatusOr<std::string> stat =
      ReadSmallFile(absl::StrCat("/proc/", pid, "/stat"), kMostProcText);
  if (!stat.ok()) return 0;
  // "<pid> (<name>) <state> ...", and the name may have anything in it.
  const size_t end = stat->rfind(") ");
  return end == std::string::npos || end + 2 >= stat->size() ? char{0} : (*stat)[end + 2];
}

bool HasEnded(const Fd& pidfd) {
  pollfd poll = {.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) == 1;
}

}  // namespace vramspan::broker
