#include "tools/simcuda/driver.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>

#include "tools/simcuda/environment.h"

namespace simcuda {

Config Config::FromEnvironment() {
  Config config;
  config.devices = static_cast<int>(std::min<size_t>(EnvNumber("SIMCUDA_DEVICES", 1), 64));
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

Driver& Driver::Get() {
  static Driver* const driver = new Driver();
  return *driver;
}

Driver::Driver() : config_(Config::FromEnvironment()), host_memory_(config_.host_memory) {
  for (int i = 0; i < config_.devices; ++i) {
    devices_.push_back(std::make_unique<Device>(i, config_.device_memory));
  }
  pthread_atfork(nullptr, nullptr, [] {
    Driver& driver = Driver::Get();
    if (driver.initialized_.exchange(false)) driver.forked_.store(true);
  });
}

CUresult Driver::Initialize() {
  if (forked_.load(std::memory_order_acquire)) return CUDA_ERROR_NOT_INITIALIZED;
  if (devices_.empty()) return CUDA_ERROR_NO_DEVICE;
  static const int registered =
      std::atexit([] { Driver::Get().gone_.store(true, std::memory_order_release); });
  static_cast<void>(registered);
  initialized_.store(true, std::memory_order_release);
  return CUDA_SUCCESS;
}

Device* Driver::device(int ordinal) const {
  if (ordinal < 0 || ordinal >= device_count()) return nullptr;
  return devices_[static_cast<size_t>(ordinal)].get();
}

}  // namespace simcuda
