// Hooks of the driver's VMM calls. Device memory that the program makes with cuMemCreate and maps
// into addresses that it reserved is ours, and moves as what cuMemAlloc hands out does
// (vmm_table.h). Answers are those of the driver without us; where the driver's rules were measured
// (a handle is mapped whole and from its start, a mapping is unmapped whole) they hold here too.
//
// Left to the driver: memory that is not the device's or has more to it than a place (fabric
// handles, compression, tiles for sparse arrays), imported memory, reservations at an address that
// the program asks for. A handle of ours that is mapped into one of those, that is exported, or
// that is bound to a multicast object becomes real first. So does one that may be exported and is
// mapped to a reservation of just its size: that is how buffers for other devices and processes are
// made (NCCL), pools of a program are not. One that is mapped twice, or for others than its device,
// stays where it is on the device.
//
// As with the driver no call waits for GPU work, but for what is to lose its memory: an unmap waits
// a second at most for work that names it, and what is becoming real for work that may use it.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_VMM_H_
#define VRAMSPAN_RUNTIME_PRELOAD_VMM_H_

#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

// vmm.cc: addresses, memory, and one behind the other.
CUresult MemAddressReserve(decltype(&::cuMemAddressReserve) real, CUdeviceptr* p, size_t size,
                           size_t alignment, CUdeviceptr wanted, unsigned long long flags);
CUresult MemAddressFree(decltype(&::cuMemAddressFree) real, CUdeviceptr p, size_t size);
CUresult VmmCreate(decltype(&::cuMemCreate) real, CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* properties, unsigned long long flags);
CUresult MemRelease(decltype(&::cuMemRelease) real, CUmemGenericAllocationHandle handle);
CUresult MemMap(decltype(&::cuMemMap) real, CUdeviceptr p, size_t size, size_t offset,
                CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult MemUnmap(decltype(&::cuMemUnmap) real, CUdeviceptr p, size_t size);

// vmm_sharing.cc: who may reach it, and what it is.
CUresult MemSetAccess(decltype(&::cuMemSetAccess) real, CUdeviceptr p, size_t size,
                      const CUmemAccessDesc* access, size_t count);
CUresult MemGetAccess(decltype(&::cuMemGetAccess) real, unsigned long long* flags,
                      const CUmemLocation* location, CUdeviceptr p);
CUresult VmmRetain(decltype(&::cuMemRetainAllocationHandle) real,
                   CUmemGenericAllocationHandle* handle, void* address);
CUresult MemGetAllocationProperties(decltype(&::cuMemGetAllocationPropertiesFromHandle) real,
                                    CUmemAllocationProp* properties,
                                    CUmemGenericAllocationHandle handle);
CUresult MemExport(decltype(&::cuMemExportToShareableHandle) real, void* shareable,
                   CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                   unsigned long long flags);
CUresult MulticastBindMem(decltype(&::cuMulticastBindMem) real, CUmemGenericAllocationHandle group,
                          size_t group_offset, CUmemGenericAllocationHandle handle, size_t offset,
                          size_t size, unsigned long long flags);
CUresult MulticastBindAddr(decltype(&::cuMulticastBindAddr) real,
                           CUmemGenericAllocationHandle group, size_t group_offset, CUdeviceptr p,
                           size_t size, unsigned long long flags);

// What the program mapped at `p`: where that begins and its size. False where it mapped nothing
// there into a reservation of ours.
bool FindVmmMapping(CUdeviceptr p, CUdeviceptr* base, size_t* size);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_VMM_H_
