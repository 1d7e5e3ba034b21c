// Who is at the other end of a connection, by the kernel's word alone.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_PEER_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_PEER_H_

#include <sys/types.h>

#include <string>

#include "runtime/base/status.h"
#include "tools/broker/server/fd.h"

namespace vramspan::broker {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  Fd pidfd;            // Readable when the process is gone.
  std::string cgroup;  // As CgroupOf.
  std::string name;    // Of the program, as it calls itself. For people.
};

// Who connected. `proc` is /proc, or what stands for it in tests. The process is there yet when
// everything was read, so all of it is about that one, whoever has its pid later. Before Linux 6.5
// the pid may have had another owner when the process connected: whoever speaks then has to be the
// process (Received::pid).
StatusOr<Peer> IdentifyPeer(int socket, const std::string& proc);

// 'R', 'S', 'T' and so on, as ps has them. 0: it cannot be told.
char ProcessState(pid_t pid);

// The process is gone, but for what its parent may ask about it.
bool HasEnded(const Fd& pidfd);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_PEER_H_
