#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ALLOCATIONS_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ALLOCATIONS_H_

// Plain allocations: device, managed, page-locked, registered. Thread-safe. The checks of arguments
// and captures, and the waiting of cuMemFree, are the callers'.

#include <cuda.h>

#include <cstddef>

#include "tools/simcuda/context.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/block_heap.h"
#include "tools/simcuda/memory/physical.h"

namespace simcuda::memory {

// The heap behind cuMemAlloc on a device.
BlockHeap& DeviceHeap(Device& device);

CUresult AllocateDevice(Context& context, size_t size, CUdeviceptr* address);
CUresult AllocateArray(Context& context, size_t size, RangePtr* range);
CUresult AllocateManaged(Context& context, size_t size, unsigned flags, CUdeviceptr* address);
CUresult AllocateHost(Context& context, size_t size, unsigned flags, void** address);
// A buffer of what was imported, which keeps it.
CUresult MapImported(Context& context, const PhysicalPtr& memory, size_t offset, size_t size,
                     CUdeviceptr* address);
CUresult RegisterHost(Context& context, void* address, size_t size, unsigned flags);

// Gives back the memory of a range that was taken out of the address map.
void FreeRange(const Range& range);
void FreeContextMemory(const Context& context);

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ALLOCATIONS_H_
