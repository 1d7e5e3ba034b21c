#include "tools/simcuda/config.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tools/simcuda/environment.h"
#include "tools/simcuda/shared/segment.h"

namespace simcuda {

Config Config::FromEnvironment() {
  Config config;
  config.devices =
      static_cast<int>(std::min(EnvNumber("SIMCUDA_DEVICES", 1), shared::kMostDevices));
  config.device_memory = EnvBytes("SIMCUDA_DEVICE_MEMORY", config.device_memory);
  config.host_memory = EnvBytes("SIMCUDA_HOST_MEMORY", config.host_memory);
  config.context_memory = EnvBytes("SIMCUDA_CONTEXT_MEMORY", config.context_memory);
  config.driver_version = static_cast<int>(EnvNumber("SIMCUDA_DRIVER_VERSION", 13000));
  config.host_vmm = EnvNumber("SIMCUDA_HOST_VMM", 1) != 0;
  config.host_vmm_told = EnvNumber("SIMCUDA_HOST_VMM_TOLD", 1) != 0;
  config.host_anywhere = EnvNumber("SIMCUDA_HOST_ANYWHERE", 1) != 0;
  config.host_nodes = EnvBits("SIMCUDA_HOST_NODES", config.host_nodes);
  config.near_node = static_cast<int>(std::min<size_t>(EnvNumber("SIMCUDA_NEAR_NODE", 0), 63));
  config.stream_ops = static_cast<int>(std::min<size_t>(EnvNumber("SIMCUDA_STREAM_OPS", 64), 64));
  config.copy_engines =
      static_cast<int>(std::clamp<size_t>(EnvNumber("SIMCUDA_COPY_ENGINES", 3), 1, 8));
  config.newer = EnvNumber("SIMCUDA_NEWER", 0) != 0;
  EnvRates("SIMCUDA_LINK", &config.link_in, &config.link_out);
  if (const char* name = getenv("SIMCUDA_DEVICE_NAME"); name != nullptr && *name != '\0') {
    config.device_name = name;
  }
  config.peer_access = EnvNumber("SIMCUDA_PEER_ACCESS", 1) != 0;
  config.connections =
      static_cast<int>(std::clamp<size_t>(EnvNumber("CUDA_DEVICE_MAX_CONNECTIONS", 8), 1, 32));
  EnvVersion("SIMCUDA_COMPUTE_CAPABILITY", &config.compute_capability_major,
             &config.compute_capability_minor);
  return config;
}

std::array<unsigned char, 16> UuidOf(int ordinal) {
  std::array<unsigned char, 16> uuid;
  memcpy(uuid.data(), "simcuda-device-", 15);
  uuid[15] = static_cast<unsigned char>(ordinal);
  return uuid;
}

}  // namespace simcuda
