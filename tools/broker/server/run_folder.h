// The daemon's run directory: nobody else serves it, and nobody else can change it.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_RUN_FOLDER_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_RUN_FOLDER_H_

#include <string>

#include "runtime/base/status.h"
#include "tools/broker/server/fd.h"

namespace vramspan::broker {

// Makes the folder where there is none, and locks it as long as the result lives.
StatusOr<Fd> ClaimRunFolder(const std::string& path);

// Makes it where there is none: for this user alone. One that others can change is refused.
Status MakePrivateFolder(const std::string& path);

// Makes the folder for clients in it (control/run_directory.h), and the link to its socket. What
// stands in the link's place is replaced.
Status MakeClientsFolder(const std::string& path);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_RUN_FOLDER_H_
