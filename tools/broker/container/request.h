// What a container asks for by its variables, as keys and values of a tenant's file.
#ifndef VRAMSPAN_TOOLS_BROKER_CONTAINER_REQUEST_H_
#define VRAMSPAN_TOOLS_BROKER_CONTAINER_REQUEST_H_

#include <map>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace vramspan::broker {

bool IsRequestVariable(std::string_view name);

// NVIDIA_GPU_MEMORY_REQUEST and _LIMIT are the guarantee and the limit of device memory; with
// Kubernetes' units, too (8Gi). VRAMSPAN_WEIGHT and VRAMSPAN_CLASS are the tenant's. One that is
// empty says nothing. Errors name the variable, and say what is allowed. What is allowed to ask is
// the broker's business.
StatusOr<std::map<std::string, std::string>> ReadContainerRequest(
    const std::map<std::string, std::string>& variables);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CONTAINER_REQUEST_H_
