#ifndef VRAMSPAN_TOOLS_SIMCUDA_CONFIG_H_
#define VRAMSPAN_TOOLS_SIMCUDA_CONFIG_H_

// The settings of the simulated machine.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace simcuda {

// What a driver to come might take (SIMCUDA_NEWER).
inline constexpr unsigned long long kNewerFlag = 1ull << 40;
inline constexpr int kNewerLocation = 99;  // Host memory; its id means nothing.

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
  bool host_vmm = true;       // cuMemCreate makes host memory.
  bool host_vmm_told = true;  // The attributes say so.
  bool host_anywhere = true;  // By CU_MEM_LOCATION_TYPE_HOST, too.
  uint64_t host_nodes = 1;    // On which NUMA nodes, a bit each.
  int near_node = 0;          // HOST_NUMA_ID.
  int stream_ops = 64;        // The widest value that streams wait for and write, in bits.
  int copy_engines = 3;
  double link_in = 0, link_out = 0;  // GB/s of copies to the device and to the host; 0: no limit.
  std::string device_name;           // Empty: "simcuda device" and its number.
  bool newer = false;                // Takes a flag and a kind of location that nobody knows yet.
  bool peer_access = true;           // Devices reach each other's memory.

  // What cannot be read ends the process (environment.h).
  static Config FromEnvironment();
};

// A device's UUID. What processes share is told by simcudaSharedBy.
std::array<unsigned char, 16> UuidOf(int ordinal);

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_CONFIG_H_
