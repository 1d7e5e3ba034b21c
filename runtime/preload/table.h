// The table of hooked entry points, made from the rows of hooks.inc.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_TABLE_H_
#define VRAMSPAN_RUNTIME_PRELOAD_TABLE_H_

#include <cstddef>
#include <string_view>

namespace vramspan::preload {

struct HookRow {
  const char* base;    // What cuGetProcAddress is asked for: cuMemAlloc.
  int version;         // The CUDA version from which it then answers this ABI: 3020.
  const char* symbol;  // What the driver exports it as: cuMemAlloc_v2.
  void* (*asked)();    // Gives what dlsym and cuGetProcAddress answer in its place.
};

inline constexpr size_t kNoHook = static_cast<size_t>(-1);

size_t HookCount();
const HookRow& Hook(size_t id);
// By the exported name; kNoHook for a name that is not hooked.
size_t FindHook(std::string_view symbol);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_TABLE_H_
