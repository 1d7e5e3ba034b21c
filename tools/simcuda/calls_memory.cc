#include "tools/simcuda/calls_memory.h"

#include "tools/simcuda/capture.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/allocations.h"
#include "tools/simcuda/memory/mem_pool.h"
#include "tools/simcuda/memory/pages.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

using memory::AddressMap;
using memory::Range;
using memory::RangeKind;
using memory::RangePtr;

constexpr size_t kPitchAlignment = 512;

RangePtr FindHost(void* address) {
  RangePtr range = AddressMap::Get().Find(reinterpret_cast<CUdeviceptr>(address));
  return range && range->host() ? range : nullptr;
}

CUresult CheckManaged(CUdeviceptr address, size_t size) {
  const RangePtr range = AddressMap::Get().Find(address);
  return range && range->kind == RangeKind::kManaged && size > 0 && range->Contains(address, size)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult FreeRangeAt(CUdeviceptr address, std::initializer_list<RangeKind> kinds) {
  RangePtr range;
  for (const RangeKind kind : kinds) {
    if (!range) range = AddressMap::Get().Remove(address, kind);
  }
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  const ContextPtr context = Driver::Get().contexts().FindQuietly(range->context);
  if (context) context->WaitIdleAlone();
  memory::FreeRange(*range);
  return context ? context->error() : CUDA_SUCCESS;
}

CUresult MemGetInfo(size_t* free, size_t* total) {
  const MemoryAccount& account = CurrentContext()->device().memory();
  if (free != nullptr) *free = account.free();
  if (total != nullptr) *total = account.limit();
  return CUDA_SUCCESS;
}

// As the real driver's, these two write to what they answer in even where they fail.
CUresult MemAlloc(CUdeviceptr* address, size_t size) {
  if (address != nullptr) *address = 0;
  // Before what is asked for, as the real driver does (an H100's).
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  if (address == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  return memory::AllocateDevice(*CurrentContext(), size, address);
}

CUresult MemAllocPitch(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                       unsigned element_size) {
  if (address != nullptr) *address = 0;
  if (pitch != nullptr) *pitch = 0;
  if (address == nullptr || pitch == nullptr || width == 0 || height == 0 ||
      (element_size != 4 && element_size != 8 && element_size != 16)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t bytes = 0;
  const size_t rounded = memory::RoundUp(width, kPitchAlignment);
  if (rounded < width) return CUDA_ERROR_INVALID_VALUE;
  *pitch = rounded;
  const bool too_much = __builtin_mul_overflow(rounded, height, &bytes);
  return too_much && bytes != 0 ? CUDA_ERROR_OUT_OF_MEMORY : MemAlloc(address, bytes);
}

CUresult MemFree(CUdeviceptr address) {
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  if (address == 0) return CUDA_SUCCESS;
  return FreeRangeAt(
      address, {RangeKind::kDevice, RangeKind::kManaged, RangeKind::kPool, RangeKind::kExternal});
}

CUresult MemAllocManaged(CUdeviceptr* address, size_t size, unsigned flags) {
  if (address == nullptr || size == 0 ||
      (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  return memory::AllocateManaged(*CurrentContext(), size, flags, address);
}

CUresult MemAllocHost(void** address, size_t size) { return MemHostAlloc(address, size, 0); }

CUresult MemHostAlloc(void** address, size_t size, unsigned flags) {
  constexpr unsigned kKnown =
      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (address == nullptr || size == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  return memory::AllocateHost(*CurrentContext(), size, flags, address);
}

CUresult MemFreeHost(void* address) {
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = capture::CheckUnsafeCall(); r != CUDA_SUCCESS) return r;
  return FreeRangeAt(reinterpret_cast<CUdeviceptr>(address), {RangeKind::kHost});
}

CUresult MemHostGetDevicePointer(CUdeviceptr* device_address, void* address, unsigned flags) {
  if (device_address == nullptr || flags != 0 || !FindHost(address)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *device_address = reinterpret_cast<CUdeviceptr>(address);
  return CUDA_SUCCESS;
}

CUresult MemHostGetFlags(unsigned* flags, void* address) {
  const RangePtr range = FindHost(address);
  if (flags == nullptr || !range || range->kind != RangeKind::kHost) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Unified addressing maps all page-locked memory.
  *flags = range->flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

CUresult MemHostRegister(void* address, size_t size, unsigned flags) {
  constexpr unsigned kKnown =
      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
  if (address == nullptr || size == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  return memory::RegisterHost(*CurrentContext(), address, size, flags);
}

CUresult MemHostUnregister(void* address) {
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  return AddressMap::Get().Remove(at, RangeKind::kRegistered)
             ? CUDA_SUCCESS
             : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

// Advice and prefetching are for managed memory, which is everywhere at once here.
CUresult MemAdviseV1(CUdeviceptr address, size_t size, CUmem_advise /*advice*/,
                     CUdevice /*device*/) {
  return CheckManaged(address, size);
}

CUresult MemAdviseV2(CUdeviceptr address, size_t size, CUmem_advise /*advice*/,
                     CUmemLocation /*location*/) {
  return CheckManaged(address, size);
}

CUresult MemPrefetchAsyncV1(CUdeviceptr address, size_t size, CUdevice /*device*/,
                            CUstream handle) {
  StreamPtr stream;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  return CheckManaged(address, size);
}

CUresult MemPrefetchAsyncV2(CUdeviceptr address, size_t size, CUmemLocation /*location*/,
                            unsigned flags, CUstream handle) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return MemPrefetchAsyncV1(address, size, 0, handle);
}

CUresult MemRangeGetAttribute(void* data, size_t data_size, CUmem_range_attribute /*attribute*/,
                              CUdeviceptr address, size_t size) {
  if (data == nullptr || data_size != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = CheckManaged(address, size); r != CUDA_SUCCESS) return r;
  *static_cast<int*>(data) = 0;
  return CUDA_SUCCESS;
}

// No dma-buf and no interprocess handles of plain allocations: POSIX descriptors of VMM handles are
// the way between processes.
CUresult MemGetHandleForAddressRange(void* /*handle*/, CUdeviceptr /*address*/, size_t /*size*/,
                                     CUmemRangeHandleType /*type*/, unsigned long long /*flags*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult IpcGetMemHandle(CUipcMemHandle* /*handle*/, CUdeviceptr address) {
  const RangePtr range = AddressMap::Get().Find(address);
  return range && range->kind == RangeKind::kDevice ? CUDA_ERROR_NOT_SUPPORTED
                                                    : CUDA_ERROR_INVALID_VALUE;
}
// No handle is one of this driver's.
CUresult IpcOpenMemHandle(CUdeviceptr* /*address*/, CUipcMemHandle /*handle*/, unsigned /*flags*/) {
  return CUDA_ERROR_INVALID_VALUE;
}
CUresult IpcCloseMemHandle(CUdeviceptr /*address*/) { return CUDA_ERROR_NOT_SUPPORTED; }
CUresult IpcGetEventHandle(CUipcEventHandle* /*handle*/, CUevent /*event*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult IpcOpenEventHandle(CUevent* /*event*/, CUipcEventHandle /*handle*/) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace simcuda::calls
