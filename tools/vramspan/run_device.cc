// The management library of the NVIDIA driver: it knows the devices without a context or a second
// of start-up. Opened at run time, its three functions declared here as its documentation has them.
#include <dlfcn.h>

#include <algorithm>

#include "tools/vramspan/run_plan.h"

namespace vramspan::run {
namespace {

struct NvmlMemory {
  unsigned long long total, free, used;
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  ~Nvml() {
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  template <typename... Args>
  bool Call(const char* name, Args... args) const {
    if (library_ == nullptr) return false;
    const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library_, name));
    return function != nullptr && function(args...) == 0;
  }

 private:
  void* const library_;
};

}  // namespace

std::optional<Bytes> LargestDevice() {
  const Nvml nvml;
  if (!nvml.Call("nvmlInit_v2")) return std::nullopt;
  std::optional<Bytes> largest;
  unsigned count = 0;
  if (!nvml.Call("nvmlDeviceGetCount_v2", &count)) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    NvmlMemory memory{};
    if (nvml.Call("nvmlDeviceGetHandleByIndex_v2", i, &device) &&
        nvml.Call("nvmlDeviceGetMemoryInfo", device, &memory)) {
      largest = std::max(largest.value_or(Bytes(0)), Bytes(memory.total));
    }
  }
  nvml.Call("nvmlShutdown");
  return largest;
}

}  // namespace vramspan::run
