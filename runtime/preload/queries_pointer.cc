// What a pointer of ours is.
#include <optional>

#include "runtime/base/own_calls.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/queries.h"
#include "runtime/preload/runtimes.h"
#include "runtime/preload/vmm.h"

namespace vramspan::preload {
namespace {

// An address that no memory has: the driver says of it what it says of memory that was freed.
constexpr CUdeviceptr kNobodys = 1;

// What a question about an address is about.
struct Subject {
  Runtime* runtime = nullptr;  // None: not ours, or the driver's own memory at addresses of ours.
  std::optional<Allocated> memory;
  // The driver's memory that is asked about in its place.
  CUdeviceptr stand_in = kNobodys;
};

Subject SubjectOf(CUdeviceptr p) {
  Subject s;
  s.runtime = RuntimeOf(p);
  if (s.runtime == nullptr) return s;
  s.memory = FindAllocated(p);
  if (s.memory.has_value()) {
    s.stand_in = s.runtime->memory().drains().plain();
  } else {
    CUdeviceptr base = 0;
    size_t size = 0;
    if (FindVmmMapping(p, &base, &size)) s.runtime = nullptr;
  }
  return s;
}

template <typename T>
void Write(void* data, T value) {
  *static_cast<T*>(data) = value;
}

// Replaces what the driver said of the stand-in where that is not what holds of this memory.
void Correct(const Allocated& memory, CUpointer_attribute attribute, CUdeviceptr p, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Write<CUdeviceptr>(data, p);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Write<unsigned>(data, memory.sync_memops ? 1 : 0);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Write<unsigned long long>(data, memory.id);
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return Write<unsigned long long>(data, memory.block_id);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return Write<CUdeviceptr>(data, memory.base);
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return Write<CUdeviceptr>(data, memory.block_base());
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return Write<size_t>(data, memory.size);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return Write<size_t>(data, memory.block_size());
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Write<CUmemoryPool>(data, memory.pool);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      if (memory.pool != nullptr) Write<unsigned>(data, 0);
      return;
    default:
      return;
  }
}

}  // namespace

CUresult MemGetAddressRange(decltype(&::cuMemGetAddressRange_v2) real, CUdeviceptr* base,
                            size_t* size, CUdeviceptr p) {
  const Subject s = SubjectOf(p);
  if (s.runtime == nullptr) return VS_WATCHED(cuMemGetAddressRange_v2)(real, base, size, p);
  const OwnCalls own;
  if (!s.memory.has_value()) return real(base, size, kNobodys);
  if (base != nullptr) *base = s.memory->base;
  if (size != nullptr) *size = s.memory->size;
  return CUDA_SUCCESS;
}

CUresult PointerGetAttribute(decltype(&::cuPointerGetAttribute) real, void* data,
                             CUpointer_attribute attribute, CUdeviceptr p) {
  const Subject s = SubjectOf(p);
  if (s.runtime == nullptr) return VS_WATCHED(cuPointerGetAttribute)(real, data, attribute, p);
  const OwnCalls own;
  // Tokens are for the very pages that they were asked for.
  if (s.memory.has_value() && attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const CUresult result = real(data, attribute, s.stand_in);
  if (result == CUDA_SUCCESS && s.memory.has_value()) Correct(*s.memory, attribute, p, data);
  return result;
}

CUresult PointerGetAttributes(decltype(&::cuPointerGetAttributes) real, unsigned count,
                              CUpointer_attribute* attributes, void** data, CUdeviceptr p) {
  const Subject s = SubjectOf(p);
  if (s.runtime == nullptr) {
    return VS_WATCHED(cuPointerGetAttributes)(real, count, attributes, data, p);
  }
  const OwnCalls own;
  const CUresult result = real(count, attributes, data, s.stand_in);
  if (result != CUDA_SUCCESS) return result;
  for (unsigned i = 0; i < count; ++i) {
    if (s.memory.has_value()) {
      Correct(*s.memory, attributes[i], p, data[i]);
    } else if (attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
      // What the driver does not know it takes for the host's, at the address that was asked about.
      Write<CUdeviceptr>(data[i], p);
    }
  }
  return CUDA_SUCCESS;
}

CUresult PointerSetAttribute(decltype(&::cuPointerSetAttribute) real, const void* value,
                             CUpointer_attribute attribute, CUdeviceptr p) {
  const Subject s = SubjectOf(p);
  if (s.runtime == nullptr) return VS_WATCHED(cuPointerSetAttribute)(real, value, attribute, p);
  const OwnCalls own;
  const CUresult result = real(value, attribute, s.stand_in);
  if (result == CUDA_SUCCESS && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
    SetSyncMemops(p, *static_cast<const unsigned*>(value) != 0);
  }
  return result;
}

}  // namespace vramspan::preload
