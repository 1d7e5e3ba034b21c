// What a container gets of its host: where clients find the broker, the libraries, and the loader's
// file by which every program there has the stub (runtime/preload/stub).
#ifndef VRAMSPAN_TOOLS_BROKER_CONTROL_CONTAINER_H_
#define VRAMSPAN_TOOLS_BROKER_CONTROL_CONTAINER_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace vramspan::broker {

// In the container. The loader's file knows no way to write a space or a colon, so the libraries
// always stand there, wherever they are on the host. `container.preload` beside them says so.
inline constexpr char kLibrariesInContainer[] = "/usr/lib/vramspan/lib";
inline constexpr char kRunFolderInContainer[] = "/run/vramspan";
inline constexpr char kLoadersFile[] = "/etc/ld.so.preload";
inline constexpr char kPreloadList[] = "/vramspan/container.preload";  // In the libraries' folder.

// To be mounted, and only to be read.
struct Mount {
  std::string host, container;
};

// From the broker's run directory and the folder of the libraries. FailedPrecondition: what would
// be mounted is not there, others can change it, or it has what is not for containers.
// InvalidArgument: a path cannot be written in JSON.
StatusOr<std::vector<Mount>> ContainerMounts(const std::string& run_directory,
                                             const std::string& libraries);

// The command that runtimes run as root.
Status CheckHook(const std::string& path);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CONTROL_CONTAINER_H_
