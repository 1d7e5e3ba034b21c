#include "tools/simcuda/calls_unsupported.h"

#include <cstdint>

#include "tools/simcuda/memory/pages.h"
#include "tools/simcuda/memory/vmm.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

bool WholePages(size_t offset, size_t size) {
  return size != 0 && offset % memory::kGranularity == 0 && size % memory::kGranularity == 0;
}

}  // namespace

CUresult MulticastGetGranularity(size_t* granularity, const CUmulticastObjectProp* prop,
                                 CUmulticastGranularity_flags /*option*/) {
  if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult MulticastCreate(CUmemGenericAllocationHandle* group, const CUmulticastObjectProp* prop) {
  if (group == nullptr || prop == nullptr || prop->numDevices == 0 || !WholePages(0, prop->size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult MulticastAddDevice(CUmemGenericAllocationHandle /*group*/, CUdevice /*device*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult MulticastBindMem(CUmemGenericAllocationHandle /*group*/, size_t group_offset,
                          CUmemGenericAllocationHandle handle, size_t offset, size_t size,
                          unsigned long long flags) {
  CUmemAllocationProp prop;
  const CUresult result = memory::Vmm::Get().Properties(handle, &prop);
  if (result != CUDA_SUCCESS) return result;
  if (!WholePages(group_offset, size) || !WholePages(offset, size) || flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult MulticastBindAddr(CUmemGenericAllocationHandle /*group*/, size_t group_offset,
                           CUdeviceptr address, size_t size, unsigned long long flags) {
  memory::Vmm::Mapped mapped;
  const memory::RangePtr range = memory::AddressMap::Get().Find(address);
  const bool pool = range && range->kind == memory::RangeKind::kPool;
  if ((!pool && !memory::Vmm::Get().Find(address, &mapped)) || flags != 0 ||
      !WholePages(group_offset, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult MulticastUnbind(CUmemGenericAllocationHandle /*group*/, CUdevice /*device*/,
                         size_t /*offset*/, size_t /*size*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult MemBatchDecompressAsync(CUmemDecompressParams* params, size_t count, unsigned flags,
                                 size_t* failed, CUstream stream_handle) {
  if (failed != nullptr) *failed = SIZE_MAX;
  StreamPtr stream;
  if (params == nullptr || count == 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindStream(stream_handle, &stream); r != CUDA_SUCCESS) return r;
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace simcuda::calls
