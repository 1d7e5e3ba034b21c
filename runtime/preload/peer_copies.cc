#include "runtime/preload/peer_copies.h"

#include "runtime/base/own_calls.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"

namespace vramspan::preload {
namespace {

CUcontext OwnerOf(CUdeviceptr p) {
  if (Runtime* const runtime = RuntimeOf(p)) return runtime->memory().options().context;
  const auto ask = DriverFunction<decltype(&::cuPointerGetAttribute)>("cuPointerGetAttribute");
  CUcontext context = nullptr;
  CUmemorytype type{};
  if (ask == nullptr || ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) != CUDA_SUCCESS ||
      type != CU_MEMORYTYPE_DEVICE ||
      ask(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p) != CUDA_SUCCESS) {
    return nullptr;
  }
  return context;
}

struct Ends {
  CUcontext to = nullptr, from = nullptr;
  bool ok() const { return to != nullptr && from != nullptr; }
};

// None where it is no copy between devices, or nothing of it is ours: the first answer holds.
Ends EndsOf(CUdeviceptr to, CUdeviceptr from) {
  if (RuntimeOf(to) == nullptr && RuntimeOf(from) == nullptr) return {};
  const OwnCalls own;
  const Ends ends{OwnerOf(to), OwnerOf(from)};
  return ends.to == ends.from && ends.to == CurrentContext() ? Ends() : ends;
}

}  // namespace

// By the driver's own functions, so that hooks of ours do not tell of the copy twice; CUPTI is to
// see it as any other.
CUresult CopyAsPeer(bool per_thread, CUdeviceptr to, CUdeviceptr from, size_t size) {
  const Ends ends = EndsOf(to, from);
  const auto copy =
      DriverFunction<decltype(&::cuMemcpyPeer)>(per_thread ? "cuMemcpyPeer_ptds" : "cuMemcpyPeer");
  if (!ends.ok() || copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy(to, ends.to, from, ends.from, size);
}

CUresult CopyAsPeer(bool per_thread, CUdeviceptr to, CUdeviceptr from, size_t size,
                    CUstream stream) {
  const Ends ends = EndsOf(to, from);
  const auto copy = DriverFunction<decltype(&::cuMemcpyPeerAsync)>(
      per_thread ? "cuMemcpyPeerAsync_ptsz" : "cuMemcpyPeerAsync");
  if (!ends.ok() || copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return copy(to, ends.to, from, ends.from, size, stream);
}

}  // namespace vramspan::preload
