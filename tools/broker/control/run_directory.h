// Where a broker's sockets lie: a folder with control.sock, for operators, and a folder `clients`
// with broker.sock, for processes, to which broker.sock beside it leads. Containers get `clients`
// alone. It stays when a broker ends: what is mounted is the folder, whatever has its name later.
#ifndef VRAMSPAN_TOOLS_BROKER_CONTROL_RUN_DIRECTORY_H_
#define VRAMSPAN_TOOLS_BROKER_CONTROL_RUN_DIRECTORY_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::broker {

inline constexpr char kBrokerSocket[] = "/broker.sock";
inline constexpr char kControlSocket[] = "/control.sock";
inline constexpr char kClientsFolder[] = "/clients";
// What containers' hooks wrote: for the broker alone.
inline constexpr char kContainersFolder[] = "/tenants.d";
inline constexpr char kClientsSocket[] = "/clients/broker.sock";

// Where processes look, in order: $VRAMSPAN_BROKER where it is a path and nothing else then; else
// /run/vramspan, then $XDG_RUNTIME_DIR/vramspan.
std::vector<std::string> RunDirectories();

// Where a broker of this user listens unless it is told: the first of these that is for this user.
// Root's is /run/vramspan. FailedPrecondition where there is none.
StatusOr<std::string> OwnRunDirectory();

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CONTROL_RUN_DIRECTORY_H_
