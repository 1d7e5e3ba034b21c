#include "tools/simcuda/driver.h"

#include <pthread.h>

#include <cstdlib>

#include "tools/simcuda/shared/shared_devices.h"

namespace simcuda {

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
    if (shared::SharedDevices* const shared = shared::SharedDevices::Get()) shared->Forked();
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
