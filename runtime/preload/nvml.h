// NVML's memory info, for programs that plan by it. libnvidia-ml.so.1 is the program's to load; its
// two functions are exported here and answered to dlsym, and say of a device that has a runtime
// what cuMemGetInfo says (capacity.h). All else of NVML is left alone.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_NVML_H_
#define VRAMSPAN_RUNTIME_PRELOAD_NVML_H_

#include <string_view>

namespace vramspan::preload {

// What to answer in place of NVML's function `real` of that name; null where it has no hook, or
// where `real` is null.
void* NvmlHook(std::string_view name, void* real);
bool IsNvmlHooked(std::string_view name);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_NVML_H_
