// A library for CUDA_INJECTION64_PATH: it uses the driver and says how often it was called.

#include <cuda.h>

#define INJECTED_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

int calls = 0;
int devices = 0;

}  // namespace

INJECTED_EXPORT int InitializeInjection(void) {
  ++calls;
  return cuInit(0) == CUDA_SUCCESS && cuDeviceGetCount(&devices) == CUDA_SUCCESS ? 1 : 0;
}

INJECTED_EXPORT int InjectionCalls(void) { return calls; }
INJECTED_EXPORT int InjectionDevices(void) { return devices; }
