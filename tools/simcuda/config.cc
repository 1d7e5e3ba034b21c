#include "tools/simcuda/config.h"

#include <algorithm>
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
