// Where a broker's sockets lie: a folder with broker.sock, for processes, and control.sock, for
// operators.
#ifndef VRAMSPAN_TOOLS_BROKER_CONTROL_RUN_DIRECTORY_H_
#define VRAMSPAN_TOOLS_BROKER_CONTROL_RUN_DIRECTORY_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::broker {

inline constexpr char kBrokerSocket[] = "/broker.sock";
inline constexpr char kControlSocket[] = "/control.sock";

// Where processes look, in order: $VRAMSPAN_BROKER where it is a path and nothing else then; else
// /run/vramspan, then $XDG_RUNTIME_DIR/vramspan.
std::vector<std::string> RunDirectories();

// Where a broker of this user listens unless it is told: the first of these that is for this user.
// Root's is /run/vramspan. FailedPrecondition where there is none.
StatusOr<std::string> OwnRunDirectory();

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CONTROL_RUN_DIRECTORY_H_
