// The hooks of a program's own memory (vmm.h) through which it is given access, shared or looked
// at.
#include <exception>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/process.h"
#include "runtime/preload/refusals.h"
#include "runtime/preload/runtimes.h"
#include "runtime/preload/vmm.h"
#include "runtime/preload/vmm_table.h"

namespace vramspan::preload {
namespace {

int OrdinalOf(const VmmHandle& h) { return h.properties.location.id; }

bool IsPlainAccess(const CUmemAccessDesc* access, size_t count, int ordinal) {
  for (size_t i = 0; i < count; ++i) {
    const bool plain = access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                       access[i].location.id == ordinal &&
                       access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (!plain) return false;
  }
  return true;
}

// Makes a handle of ours into one that the driver knows; others are that already.
CUresult ToReal(CUmemGenericAllocationHandle* handle, const char* why) {
  if (!VmmTable::IsOurs(*handle)) return CUDA_SUCCESS;
  const OwnCalls own;
  VmmTable& table = VmmTable::Get();
  MutexLock lock(table.mu);
  VmmHandle* const h = table.FindIdle(*handle);
  if (h == nullptr || h->references == 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = table.Realise(*handle, why);
  if (result == CUDA_SUCCESS) *handle = h->real;
  return result;
}

}  // namespace

CUresult MemSetAccess(decltype(&::cuMemSetAccess) real, CUdeviceptr p, size_t size,
                      const CUmemAccessDesc* access, size_t count) {
  Runtime* const runtime = RuntimeOf(p);
  if (runtime == nullptr) return real(p, size, access, count);
  const OwnCalls own;
  VmmTable& table = VmmTable::Get();
  MutexLock lock(table.mu);
  if (access == nullptr || count == 0 || !table.WholeMappings(p, size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const CUdeviceptr end = p + size; p < end;) {
    CUdeviceptr base = 0;
    const VmmMapping* const found = table.MappingOf(p, &base);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUmemGenericAllocationHandle handle = found->handle;
    if (VmmHandle* const h = handle != 0 ? table.FindIdle(handle) : nullptr) {
      VmmMapping* const mapping = table.MappingOf(p, &base);
      // Another thread may have unmapped it, or made it the driver's.
      if (mapping == nullptr || mapping->handle != handle) continue;
      if (mapping->others.empty() && IsPlainAccess(access, count, OrdinalOf(*h))) {
        mapping->access = true;
        p = base + mapping->size;
        continue;
      }
      if (!h->held) {
        if (const Status held = table.Hold(handle, "its access is not plain"); !held.ok()) {
          return Told(held);
        }
        continue;
      }
    }
    VmmMapping* const mapping = table.MappingOf(p, &base);
    if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = real(base, mapping->size, access, count);
    if (result != CUDA_SUCCESS) return result;
    for (size_t i = 0; mapping->handle != 0 && i < count; ++i) {
      const CUmemLocation& who = access[i].location;
      mapping->others[{static_cast<int>(who.type), who.id}] = access[i];
    }
    p = base + mapping->size;
  }
  return CUDA_SUCCESS;
}

CUresult MemGetAccess(decltype(&::cuMemGetAccess) real, unsigned long long* flags,
                      const CUmemLocation* location, CUdeviceptr p) {
  Runtime* const runtime = RuntimeOf(p);
  if (flags != nullptr && location != nullptr && runtime != nullptr) {
    VmmTable& table = VmmTable::Get();
    MutexLock lock(table.mu);
    CUdeviceptr base = 0;
    const VmmMapping* const mapping = table.MappingOf(p, &base);
    if (mapping == nullptr) {
      if (!FindAllocated(p).has_value()) return CUDA_ERROR_INVALID_VALUE;
      const OwnCalls own;
      return real(flags, location, runtime->memory().drains().plain());
    }
    if (mapping->handle != 0 && mapping->others.empty()) {
      const bool has = mapping->access && location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
                       location->id == OrdinalOf(*table.Find(mapping->handle));
      *flags = has ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
      return CUDA_SUCCESS;
    }
  }
  return VS_WATCHED(cuMemGetAccess)(real, flags, location, p);
}

CUresult VmmRetain(decltype(&::cuMemRetainAllocationHandle) real,
                   CUmemGenericAllocationHandle* handle, void* address) {
  const auto p = reinterpret_cast<CUdeviceptr>(address);
  if (handle != nullptr && RuntimeOf(p) != nullptr) {
    VmmTable& table = VmmTable::Get();
    MutexLock lock(table.mu);
    CUdeviceptr base = 0;
    const VmmMapping* const mapping = table.MappingOf(p, &base);
    // Of what cuMemAlloc handed out there is no handle to be had.
    if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (mapping->handle != 0) {
      ++table.Find(mapping->handle)->references;
      *handle = mapping->handle;
      return CUDA_SUCCESS;
    }
  }
  return VS_WATCHED(cuMemRetainAllocationHandle)(real, handle, address);
}

CUresult MemGetAllocationProperties(decltype(&::cuMemGetAllocationPropertiesFromHandle) real,
                                    CUmemAllocationProp* properties,
                                    CUmemGenericAllocationHandle handle) {
  if (!VmmTable::IsOurs(handle)) return real(properties, handle);
  VmmTable& table = VmmTable::Get();
  MutexLock lock(table.mu);
  const VmmHandle* const h = table.Find(handle);
  if (properties == nullptr || h == nullptr || h->references == 0) return CUDA_ERROR_INVALID_VALUE;
  *properties = h->properties;
  return CUDA_SUCCESS;
}

CUresult MemExport(decltype(&::cuMemExportToShareableHandle) real, void* shareable,
                   CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                   unsigned long long flags) {
  if (VmmTable::IsOurs(handle)) {
    if (shareable == nullptr) return CUDA_ERROR_INVALID_VALUE;
    {
      VmmTable& table = VmmTable::Get();
      MutexLock lock(table.mu);
      const VmmHandle* const h = table.Find(handle);
      if (h == nullptr || h->references == 0) return CUDA_ERROR_INVALID_VALUE;
      // What was not asked for when the memory was made cannot be had.
      if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
          h->properties.requestedHandleTypes != type) {
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    if (const CUresult r = ToReal(&handle, "it is exported"); r != CUDA_SUCCESS) return r;
  }
  return real(shareable, handle, type, flags);
}

CUresult MulticastBindMem(decltype(&::cuMulticastBindMem) real, CUmemGenericAllocationHandle group,
                          size_t group_offset, CUmemGenericAllocationHandle handle, size_t offset,
                          size_t size, unsigned long long flags) {
  const CUresult result = ToReal(&handle, "it is bound to a multicast object");
  if (result != CUDA_SUCCESS) return result;
  return real(group, group_offset, handle, offset, size, flags);
}

CUresult MulticastBindAddr(decltype(&::cuMulticastBindAddr) real,
                           CUmemGenericAllocationHandle group, size_t group_offset, CUdeviceptr p,
                           size_t size, unsigned long long flags) {
  if (RuntimeOf(p) != nullptr) {
    const OwnCalls own;
    VmmTable& table = VmmTable::Get();
    MutexLock lock(table.mu);
    for (CUdeviceptr at = p; at - p < size;) {
      CUdeviceptr base = 0;
      const VmmMapping* const mapping = table.MappingOf(at, &base);
      if (mapping == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const CUmemGenericAllocationHandle handle = mapping->handle;
      if (handle == 0) {
        at = base + mapping->size;
        continue;
      }
      if (table.FindIdle(handle) == nullptr) continue;
      const CUresult result = table.Realise(handle, "it is bound to a multicast object");
      if (result != CUDA_SUCCESS) return result;
    }
  }
  return real(group, group_offset, p, size, flags);
}

bool FindVmmMapping(CUdeviceptr p, CUdeviceptr* base, size_t* size) {
  if (RuntimeOf(p) == nullptr) return false;
  VmmTable& table = VmmTable::Get();
  MutexLock lock(table.mu);
  const VmmMapping* const mapping = table.MappingOf(p, base);
  if (mapping == nullptr) return false;
  *size = mapping->size;
  return true;
}

}  // namespace vramspan::preload
