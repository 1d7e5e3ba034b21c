#include "cupti_tracer/profiler.h"

#include <dlfcn.h>

#include <mutex>

#include "cupti_tracer/cupti.h"

namespace vramspan {

std::string Profiler::Text(CUptiResult result) const {
  const char* text = nullptr;
  if (GetResultString(result, &text) == CUPTI_SUCCESS && text != nullptr) return text;
  return "CUPTI error " + std::to_string(static_cast<int>(result));
}

const Profiler* OpenProfiler(const char* preferred, std::string* error) {
  static std::mutex mutex;
  static Profiler profiler;
  static bool found = false;
  const std::lock_guard lock(mutex);
  if (found) return &profiler;
  void* const library = OpenCuptiLibrary(preferred, error);
  if (library == nullptr) return nullptr;
#define VS_X(field, symbol)                                                        \
  profiler.field = reinterpret_cast<decltype(&::symbol)>(dlsym(library, #symbol)); \
  if (profiler.field == nullptr) {                                                 \
    *error = "the CUPTI that was opened has no " #symbol                           \
             ", so it cannot count; use the CUPTI of CUDA 13 or later";            \
    return nullptr;                                                                \
  }
  VRAMSPAN_PROFILER_CALLS(VS_X)
#undef VS_X
  found = true;
  return &profiler;
}

}  // namespace vramspan
