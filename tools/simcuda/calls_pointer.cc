// Questions about pointers. For VMM memory the answers are the real driver's, the unhelpful ones
// too: a host chunk says that it is host memory, and its address range has another base (measured
// on an H100).

#include <algorithm>

#include "tools/simcuda/calls_memory.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/mem_pool.h"
#include "tools/simcuda/memory/vmm.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

using memory::AddressMap;
using memory::RangeKind;
using memory::RangePtr;
using memory::Vmm;

// What is known of one address, of either world.
struct Pointer {
  RangePtr range;
  bool vmm = false;
  Vmm::Mapped mapped = {};  // when vmm

  bool on_host() const {
    return vmm ? mapped.location.type != CU_MEM_LOCATION_TYPE_DEVICE : range->host();
  }
  int ordinal() const {
    if (vmm) return on_host() ? 0 : mapped.location.id;
    return range->device != nullptr ? range->device->ordinal() : 0;
  }
};

// False for addresses that are unknown, or reserved with nothing mapped.
bool Describe(CUdeviceptr address, Pointer* pointer) {
  pointer->range = AddressMap::Get().Find(address);
  if (!pointer->range) return false;
  pointer->vmm = pointer->range->kind == RangeKind::kReservation;
  return !pointer->vmm || Vmm::Get().Find(address, &pointer->mapped);
}

CUdeviceptr Base(const RangePtr& range) { return reinterpret_cast<CUdeviceptr>(range->base); }

template <typename T>
CUresult Answer(void* data, T value) {
  *static_cast<T*>(data) = value;
  return CUDA_SUCCESS;
}

CUresult Attribute(const Pointer& p, CUpointer_attribute attribute, CUdeviceptr address,
                   void* data) {
  const RangePtr& range = p.range;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      if (p.vmm) return CUDA_ERROR_INVALID_VALUE;
      return Answer(data, range->context);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return Answer<unsigned>(data, p.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Answer(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!range->host() && range->kind != RangeKind::kManaged) return CUDA_ERROR_INVALID_VALUE;
      return Answer(data, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Answer<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Answer<unsigned long long>(data, range->buffer_id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Answer<unsigned>(data, range->kind == RangeKind::kManaged ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Answer<int>(data, p.ordinal());
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return Answer<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return Answer(data, Base(range));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return Answer(data, range->size);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Answer<unsigned>(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Answer<unsigned long long>(data, p.vmm && p.mapped.exportable
                                                  ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                                                  : CU_MEM_HANDLE_TYPE_NONE);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Answer<unsigned>(data, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Answer<CUmemoryPool>(data, range->pool ? range->pool->handle() : nullptr);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Answer<size_t>(data, p.vmm ? p.mapped.size : range->block.size);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Answer<CUdeviceptr>(
          data, p.vmm ? p.mapped.base : reinterpret_cast<CUdeviceptr>(range->block.base));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Answer<unsigned long long>(data, p.vmm ? p.mapped.base : range->block.id);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

// What cuPointerGetAttributes writes where the question does not apply, or the driver does not know
// the address (and takes it for the host's).
CUresult Nothing(CUpointer_attribute attribute, CUdeviceptr address, bool known, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return Answer<CUdeviceptr>(data, known ? 0 : address);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return Answer<unsigned>(data, 0);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Answer<int>(data, -2);
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Answer<uint64_t>(data, 0);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult MemGetAddressRange(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  Pointer pointer;
  if (!Describe(address, &pointer)) {
    if (base != nullptr) *base = 0;
    if (size != nullptr) *size = 0;
    return CUDA_ERROR_NOT_FOUND;
  }
  CUdeviceptr found = Base(pointer.range);
  size_t length = pointer.range->size;
  if (pointer.vmm) {
    // For host chunks the real driver names the base of another mapping of its own, some GiB away.
    constexpr CUdeviceptr kElsewhere = CUdeviceptr{12} << 30;
    found = pointer.on_host() ? pointer.mapped.base - kElsewhere : pointer.mapped.base;
    length = pointer.mapped.size;
  }
  if (base != nullptr) *base = found;
  if (size != nullptr) *size = length;
  return CUDA_SUCCESS;
}

CUresult PointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
  Pointer pointer;
  if (data == nullptr || !Describe(address, &pointer)) return CUDA_ERROR_INVALID_VALUE;
  return Attribute(pointer, attribute, address, data);
}

CUresult PointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                              CUdeviceptr address) {
  if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Pointer pointer;
  const bool known = Describe(address, &pointer);
  for (unsigned i = 0; i < count; ++i) {
    // Questions that do not apply are answered with nothing rather than refused.
    if (known && Attribute(pointer, attributes[i], address, data[i]) == CUDA_SUCCESS) continue;
    const CUresult r = Nothing(attributes[i], address, known, data[i]);
    if (r != CUDA_SUCCESS) return r;
  }
  return CUDA_SUCCESS;
}

CUresult PointerSetAttribute(const void* value, CUpointer_attribute attribute,
                             CUdeviceptr address) {
  Pointer pointer;
  if (value == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
      !Describe(address, &pointer)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return pointer.vmm ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

}  // namespace simcuda::calls
