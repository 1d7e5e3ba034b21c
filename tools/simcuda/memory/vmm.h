#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_VMM_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_VMM_H_

// Virtual memory management: reservations, handles, mappings and their access rights, with the
// rules of the real driver as they were measured. Nothing here waits for GPU work. One lock
// serialises the calls, as the real driver does. Thread-safe.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/physical.h"
#include "tools/simcuda/memory/touch_counter.h"
#include "tools/simcuda/mutex.h"

namespace simcuda::memory {

class Vmm {
 public:
  static Vmm& Get();

  CUresult Reserve(size_t size, size_t alignment, CUdeviceptr wanted, CUdeviceptr* base);
  CUresult FreeReservation(CUdeviceptr base, size_t size);

  CUresult Create(size_t size, const CUmemAllocationProp& prop,
                  CUmemGenericAllocationHandle* handle);
  CUresult Release(CUmemGenericAllocationHandle handle);
  CUresult Retain(CUdeviceptr address, CUmemGenericAllocationHandle* handle);
  CUresult Properties(CUmemGenericAllocationHandle handle, CUmemAllocationProp* prop);
  CUresult Export(CUmemGenericAllocationHandle handle, int* fd);
  CUresult Import(int fd, CUmemGenericAllocationHandle* handle);

  CUresult Map(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle);
  // Whole mappings of one reservation, and what is not mapped between them.
  CUresult Unmap(CUdeviceptr at, size_t size);
  CUresult SetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc* descs, size_t count);
  CUresult GetAccess(CUdeviceptr at, const CUmemLocation& location, unsigned long long* flags);

  // What is mapped at an address. False when nothing is.
  struct Mapped {
    CUdeviceptr base;
    size_t size;
    CUmemLocation location;
    bool exportable;
  };
  bool Find(CUdeviceptr address, Mapped* mapped);
  // Whether all of the range is mapped, with some access: of the device, or of anybody where that
  // is null.
  bool Accessible(CUdeviceptr at, size_t size, const Device* device = nullptr);
  // Whether some of the range is mapped host memory that the device has no access to.
  bool HidesHostMemory(CUdeviceptr at, size_t size, const Device& device);

  // Counts the pages of all mappings that are touched from here on. False when it is counting
  // already (is not, for End) or the system refuses.
  bool BeginCounting();
  bool EndCounting(TouchCounter::Pages* pages);

 private:
  struct Handle {
    PhysicalPtr memory;
    int references;
  };
  struct Access {
    CUmemLocation location;
    CUmemAccess_flags flags;
  };
  struct Mapping {
    size_t size;
    PhysicalPtr memory;
    CUmemGenericAllocationHandle handle;
    std::vector<Access> access;
    CUmemAccess_flags protection = CU_MEM_ACCESS_FLAGS_PROT_NONE;  // of the pages

    bool Names(const Device& device) const;  // With some access.
  };
  using Mappings = std::map<CUdeviceptr, Mapping>;

  // First and one past the last mapping, where whole mappings cover the range without gaps.
  bool WholeMappings(CUdeviceptr at, size_t size, Mappings::iterator* first,
                     Mappings::iterator* last) SIMCUDA_REQUIRES(mutex_);
  Mappings::iterator MappingOf(CUdeviceptr address) SIMCUDA_REQUIRES(mutex_);
  // Not at its start.
  bool IsInsideMapping(CUdeviceptr address) SIMCUDA_REQUIRES(mutex_);
  CUmemGenericAllocationHandle NewHandle(PhysicalPtr memory) SIMCUDA_REQUIRES(mutex_);
  PhysicalPtr FindHandle(CUmemGenericAllocationHandle handle) SIMCUDA_REQUIRES(mutex_);

  Mutex mutex_;
  std::unordered_map<CUmemGenericAllocationHandle, Handle> handles_ SIMCUDA_GUARDED_BY(mutex_);
  std::vector<CUmemGenericAllocationHandle> free_handles_ SIMCUDA_GUARDED_BY(mutex_);
  Mappings mappings_ SIMCUDA_GUARDED_BY(mutex_);
};

// CUDA_SUCCESS for properties that cuMemCreate takes.
CUresult CheckAllocationProp(const CUmemAllocationProp& prop);

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_VMM_H_
