// What a program under `vramspan run` may ask of it: include/vramspan/process.h, under the
// preload's names. The program's own libvramspan has those of the header.
#include "include/vramspan/vramspan.h"
#include "runtime/api/found_runtime.h"
#include "runtime/api/last_error.h"
#include "runtime/preload/cuda_api.h"
#include "runtime/preload/hook_scope.h"
#include "runtime/preload/process.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

// A runtime of the parent is none of a child's. Nor is what was freed a runtime's, though its
// address stays in the runtime's range.
Runtime* Holding(CUdeviceptr p) {
  Runtime* const runtime = Inherited() ? nullptr : RuntimeOf(p);
  return runtime != nullptr && runtime->memory().Find(DevicePtr(p)).ok() ? runtime : nullptr;
}
Runtime* OnDevice(int device) { return Inherited() ? nullptr : RuntimeOfDevice(device); }

}  // namespace
}  // namespace vramspan::preload

using namespace vramspan;           // NOLINT: this file is the edge between the two worlds.
using namespace vramspan::preload;  // NOLINT

extern "C" {

VRAMSPAN_API CUresult vramspanPreloadStatistics(int device, vramspanStatistics* out) {
  const HookScope scope;
  return StatisticsOfFound(OnDevice(device), device, out);
}

VRAMSPAN_API CUresult vramspanPreloadPin(CUdeviceptr ptr, size_t size) {
  const HookScope scope;
  return PinInFound(Holding(ptr), ptr, size);
}

VRAMSPAN_API CUresult vramspanPreloadUnpin(CUdeviceptr ptr, size_t size) {
  const HookScope scope;
  return UnpinInFound(Holding(ptr), ptr, size);
}

VRAMSPAN_API CUresult vramspanPreloadPrefetch(CUdeviceptr ptr, size_t size, vramspanLocation to,
                                              CUstream stream) {
  const HookScope scope;
  return PrefetchInFound(Holding(ptr), ptr, size, to, stream);
}

VRAMSPAN_API CUresult vramspanPreloadDiscard(CUdeviceptr ptr, size_t size, CUstream stream) {
  const HookScope scope;
  return DiscardInFound(Holding(ptr), ptr, size, stream);
}

VRAMSPAN_API const char* vramspanPreloadLastErrorMessage(void) { return LastErrorMessage(); }

}  // extern "C"
