#ifndef VRAMSPAN_TOOLS_SIMCUDA_CONFIG_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CONFIG_H_

// The settings of the simulated machine.

#include <array>
#include <cstddef>
#include <cstdint>

namespace simcuda {

// Read once from the environment; README.md lists the variables.
struct Config {
  int devices = 1;
  size_t device_memory = size_t{1} << 30;
  size_t host_memory = size_t{8} << 30;
  size_t context_memory = size_t{16} << 20;
  int compute_capability_major = 9;
  int compute_capability_minor = 0;
  int driver_version = 13000;
  int connections = 8;
  bool host_vmm = true;
  bool peer_access = true;  // Devices reach each other's memory.

  // What cannot be read ends the process (environment.h).
  static Config FromEnvironment();
};

// A device's UUID. What processes share is told by simcudaSharedBy.
std::array<unsigned char, 16> UuidOf(int ordinal);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CONFIG_H_
