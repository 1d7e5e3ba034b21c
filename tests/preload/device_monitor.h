// What the simulated driver itself says of the first device: who has how much. All programs of a
// test share the devices of one folder (SIMCUDA_SHARED_DEVICES).
#ifndef VRAMSPAN_TESTS_PRELOAD_DEVICE_MONITOR_H_
#define VRAMSPAN_TESTS_PRELOAD_DEVICE_MONITOR_H_

#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace vramspan_test {

class DeviceMonitor {
 public:
  // The driver's monitor keeps to the folder that it finds first, so there is one for a process. It
  // is in the environment of what is started from here on.
  static DeviceMonitor& Get() {
    static DeviceMonitor monitor;
    return monitor;
  }

  // Of all processes, their contexts included.
  int UsedMiB() {
    struct {
      unsigned long long total, free, used;
    } memory{};
    if (Call("nvmlDeviceGetMemoryInfo", device_, &memory) != 0) abort();
    return static_cast<int>(memory.used >> 20);
  }
  // Of one process; 0 where it has none.
  int UsedMiB(int pid) {
    struct Process {
      unsigned pid;
      unsigned long long bytes;
      unsigned gpu_instance, compute_instance;
    };
    std::vector<Process> all(64);
    unsigned count = 64;
    if (Call("nvmlDeviceGetComputeRunningProcesses_v3", device_, &count, all.data()) != 0) abort();
    for (unsigned i = 0; i < count; ++i) {
      if (static_cast<int>(all[i].pid) == pid) return static_cast<int>(all[i].bytes >> 20);
    }
    return 0;
  }

 private:
  DeviceMonitor() {
    folder_ = (std::filesystem::temp_directory_path() / "vramspan-leased-XXXXXX").string();
    if (mkdtemp(folder_.data()) == nullptr) abort();
    setenv("SIMCUDA_SHARED_DEVICES", folder_.c_str(), 1);
    setenv("SIMCUDA_DEVICE_MEMORY", "320MiB", 1);
    setenv("SIMCUDA_DEVICES", "2", 1);
    library_ = dlopen(SIMCUDA_NVML, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr || Call("nvmlInit_v2") != 0 ||
        Call("nvmlDeviceGetHandleByIndex_v2", 0u, &device_) != 0) {
      abort();
    }
  }
  ~DeviceMonitor() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  template <typename... Args>
  int Call(const char* name, Args... args) {
    const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library_, name));
    return function != nullptr ? function(args...) : -1;
  }

  std::string folder_;
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_PRELOAD_DEVICE_MONITOR_H_
