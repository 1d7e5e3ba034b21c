#include "runtime/preload/sync_memops.h"

#include <optional>

#include "runtime/base/own_calls.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {

bool AsksToWait(CUdeviceptr p) {
  const std::optional<Allocated> memory = FindAllocated(p);
  return memory.has_value() && memory->sync_memops;
}

CUresult AwaitDefaultStream(bool per_thread) {
  const OwnCalls own;
  const auto synchronise = DriverFunction<decltype(&::cuStreamSynchronize)>("cuStreamSynchronize");
  if (synchronise == nullptr) return CUDA_ERROR_NOT_FOUND;
  return synchronise(per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
}

}  // namespace vramspan::preload
