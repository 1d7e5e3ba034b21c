#include "runtime/preload/sharing.h"

#include <exception>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/refusals.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {

CUresult MemGetHandleForAddressRange(decltype(&::cuMemGetHandleForAddressRange) real, void* handle,
                                     CUdeviceptr p, size_t size, CUmemRangeHandleType type,
                                     unsigned long long flags) {
  Runtime* const runtime = handle != nullptr && size != 0 ? RuntimeOf(p) : nullptr;
  if (runtime == nullptr) {
    return VS_WATCHED(cuMemGetHandleForAddressRange)(real, handle, p, size, type, flags);
  }
  const OwnCalls own;
  try {
    const Status pinned = runtime->mover().Pin(DevicePtr(p), Bytes(size));
    // What the program made real itself has no chunks and stays where it is anyhow.
    if (!pinned.ok() && !absl::IsInvalidArgument(pinned)) return Told(pinned);
    const CUresult result = real(handle, p, size, type, flags);
    if (result != CUDA_SUCCESS && pinned.ok()) {
      const Status unpinned = runtime->mover().Unpin(DevicePtr(p), Bytes(size));
      if (!unpinned.ok()) Log(LogLevel::kInfo, unpinned.message());
    }
    return result;
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace vramspan::preload
