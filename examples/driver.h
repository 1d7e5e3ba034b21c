// The driver functions that the examples call, taken at run time from the library that
// VRAMSPAN_DRIVER names, or from libcuda.so.1: the same binary runs on a GPU and on the simulated
// driver. A program that only wants a GPU links libcuda and calls them by name instead.
#ifndef VRAMSPAN_EXAMPLES_DRIVER_H_
#define VRAMSPAN_EXAMPLES_DRIVER_H_

#include <cuda.h>
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace examples {

#define EXAMPLES_DRIVER_CALLS(X)                           \
  X(Init, cuInit)                                          \
  X(DeviceGet, cuDeviceGet)                                \
  X(DeviceGetName, cuDeviceGetName)                        \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)      \
  X(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2) \
  X(CtxSetCurrent, cuCtxSetCurrent)                        \
  X(StreamCreate, cuStreamCreate)                          \
  X(StreamSynchronize, cuStreamSynchronize)                \
  X(StreamDestroy, cuStreamDestroy_v2)                     \
  X(ModuleLoadData, cuModuleLoadData)                      \
  X(ModuleGetFunction, cuModuleGetFunction)                \
  X(LaunchKernel, cuLaunchKernel)                          \
  X(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                 \
  X(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                 \
  X(MemsetD8Async, cuMemsetD8Async)                        \
  X(GetErrorName, cuGetErrorName)

// Never unloaded. Throws std::runtime_error where there is no driver or it lacks a function.
struct Driver {
#define X(field, symbol) decltype(&::symbol) field = nullptr;
  EXAMPLES_DRIVER_CALLS(X)
#undef X

  Driver() {
    const char* path = std::getenv("VRAMSPAN_DRIVER");
    if (path == nullptr || *path == '\0') path = "libcuda.so.1";
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw std::runtime_error(std::string("no CUDA driver: ") + dlerror() +
                               "; without a GPU set VRAMSPAN_DRIVER to the simulated driver, "
                               "build/release/lib/simcuda/libcuda.so.1");
    }
#define X(field, symbol)                                                  \
  field = reinterpret_cast<decltype(&::symbol)>(dlsym(library, #symbol)); \
  if (field == nullptr) throw std::runtime_error(std::string(path) + " has no " #symbol);
    EXAMPLES_DRIVER_CALLS(X)
#undef X
    Check(Init(0), "cuInit");
  }

  void Check(CUresult result, const char* call) const {
    if (result == CUDA_SUCCESS) return;
    const char* name = nullptr;
    if (GetErrorName(result, &name) != CUDA_SUCCESS) name = "an unknown error";
    throw std::runtime_error(std::string(call) + " failed: " + name);
  }
};

// The primary context of device 0, current on the calling thread while this lives, and a stream.
struct Context {
  explicit Context(const Driver& the_driver) : driver(the_driver) {
    driver.Check(driver.DeviceGet(&device, 0), "cuDeviceGet");
    driver.Check(driver.DevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    driver.Check(driver.CtxSetCurrent(context), "cuCtxSetCurrent");
    driver.Check(driver.StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  }
  ~Context() {
    driver.StreamDestroy(stream);
    driver.CtxSetCurrent(nullptr);
    driver.DevicePrimaryCtxRelease(device);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Driver& driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

}  // namespace examples

#endif  // VRAMSPAN_EXAMPLES_DRIVER_H_
