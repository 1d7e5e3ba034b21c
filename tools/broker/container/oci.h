// What an OCI runtime tells a hook: the container's state on stdin, and config.json in its bundle.
//
// Pure: text in, values out. The runtime wrote the text, but a container's image and user chose
// much of what is in it.
#ifndef VRAMSPAN_TOOLS_BROKER_CONTAINER_OCI_H_
#define VRAMSPAN_TOOLS_BROKER_CONTAINER_OCI_H_

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::broker {

inline constexpr size_t kMostOfState = 1 << 20;
inline constexpr size_t kMostOfConfig = 16 << 20;

struct ContainerState {
  std::string id;  // As a file may be called: letters, digits, _ . and -, and at most 128 of them.
  std::string bundle;
  int pid = 0;
  bool ended = false;
};

// A state with a container that is made, or one that has ended.
StatusOr<ContainerState> ReadContainerState(std::string_view text);

// The container's variables that are about its memory, by name: those that ReadContainerRequest
// knows.
StatusOr<std::map<std::string, std::string>> ReadContainerVariables(std::string_view config);

// Whether the name can be a container's.
bool IsContainerId(std::string_view id);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CONTAINER_OCI_H_
