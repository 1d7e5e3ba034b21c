// OptiX for rays.cu: how its answers are checked, and a context.
#ifndef VRAMSPAN_BENCH_PROGRAMS_RAYS_OPTIX_H_
#define VRAMSPAN_BENCH_PROGRAMS_RAYS_OPTIX_H_

#include <cuda.h>
#include <optix.h>
#include <optix_function_table_definition.h>
#include <optix_stubs.h>

#include "program.h"

#define OPTIX_OK(call)                                                              \
  do {                                                                              \
    const OptixResult result_ = (call);                                             \
    if (result_ != OPTIX_SUCCESS) {                                                 \
      std::fprintf(stderr, "%s:%d: %s is %s (%d): %s\n", __FILE__, __LINE__, #call, \
                   optixGetErrorName(result_), static_cast<int>(result_),           \
                   optixGetErrorString(result_));                                   \
      std::exit(3);                                                                 \
    }                                                                               \
  } while (0)

inline CUdeviceptr Address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

// Loads libnvoptix.so.1, of which nothing can be asked before.
inline void LoadOptix() {
  const OptixResult result = optixInit();
  if (result == OPTIX_SUCCESS) return;
  const char* why = result == OPTIX_ERROR_LIBRARY_NOT_FOUND ? dlerror() : nullptr;
  std::fprintf(stderr, "OptiX with the ABI %d cannot be used: %s (%d)%s%s\n", OPTIX_ABI_VERSION,
               optixGetErrorName(result), static_cast<int>(result), why ? ": " : "",
               why ? why : "");
  std::exit(3);
}

// OptiX in the CUDA context that is current. It must outlive what is made of it.
class OptixContext {
 public:
  // What OptiX says goes to stderr: warnings and errors, or all that it has to say. It looks for
  // mistakes of the program's with `validate`, which takes time.
  explicit OptixContext(bool validate) {
    OptixDeviceContextOptions options{};
    options.logCallbackFunction = [](unsigned level, const char* tag, const char* text, void*) {
      std::fprintf(stderr, "OptiX (%u, %s): %s\n", level, tag, text);
    };
    options.logCallbackLevel = validate ? 4 : 3;
    options.validationMode = validate ? OPTIX_DEVICE_CONTEXT_VALIDATION_MODE_ALL
                                      : OPTIX_DEVICE_CONTEXT_VALIDATION_MODE_OFF;
    OPTIX_OK(optixDeviceContextCreate(/*fromContext=*/nullptr, &options, &context_));
    // What one run compiles is no other's, so that all runs do the same.
    OPTIX_OK(optixDeviceContextSetCacheEnabled(context_, 0));
  }
  OptixContext(const OptixContext&) = delete;
  OptixContext& operator=(const OptixContext&) = delete;
  ~OptixContext() { OPTIX_OK(optixDeviceContextDestroy(context_)); }

  OptixDeviceContext get() const { return context_; }

 private:
  OptixDeviceContext context_ = nullptr;
};

#endif  // VRAMSPAN_BENCH_PROGRAMS_RAYS_OPTIX_H_
