#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_MEM_POOL_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_MEM_POOL_H_

// A pool for stream ordered allocation. An address is given out when the call is made. Memory freed
// in stream order comes back when the stream reaches the free; before that, allocations in the same
// stream may already take it over, as stream order makes that safe. Thread-safe.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tools/simcuda/device.h"
#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/memory/block_heap.h"
#include "tools/simcuda/mutex.h"

namespace simcuda::memory {

class MemPool : public std::enable_shared_from_this<MemPool> {
 public:
  MemPool(Device& device, const CUmemPoolProps& props)
      : device_(device), props_(props), heap_(device.memory()) {}

  Device& device() const { return device_; }
  const CUmemPoolProps& props() const { return props_; }
  BlockHeap& heap() { return heap_; }
  CUmemoryPool handle() const { return handle_; }
  void set_handle(CUmemoryPool handle) { handle_ = handle; }

  // Rights of other devices; its own device has them all.
  void SetAccess(int device, CUmemAccess_flags flags);
  CUmemAccess_flags AccessOf(int device) const;
  bool Reaches(const Device& device) const {
    return AccessOf(device.ordinal()) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
  }

  // Stream ordered, for work that is submitted to `stream_id` after the call.
  // CUDA_ERROR_OUT_OF_MEMORY when the device has no room and the stream has no freed memory that
  // fits.
  CUresult Allocate(uint64_t stream_id, const Context& context, size_t size, CUdeviceptr* address);

  // A free that is about to be submitted. Its op calls EndFree with the result.
  struct PendingFree {
    uint64_t stream_id;
    char* base;
    size_t size;
  };
  std::shared_ptr<PendingFree> BeginFree(uint64_t stream_id, const Range& range);
  // Returns the memory, unless an allocation took it over.
  void EndFree(const std::shared_ptr<PendingFree>& pending);
  // The free was refused: the memory stays allocated.
  void CancelFree(const std::shared_ptr<PendingFree>& pending);

  CUresult SetAttribute(CUmemPool_attribute attribute, const void* value);
  CUresult GetAttribute(CUmemPool_attribute attribute, void* value);

 private:
  char* TakeOver(uint64_t stream_id, size_t size) SIMCUDA_EXCLUDES(mutex_);

  Device& device_;
  const CUmemPoolProps props_;
  BlockHeap heap_;
  CUmemoryPool handle_ = nullptr;  // constant after creation
  std::atomic<uint64_t> threshold_{0};
  std::atomic<int> reuse_[3] = {1, 1, 1};
  mutable Mutex mutex_;
  std::map<int, CUmemAccess_flags> access_ SIMCUDA_GUARDED_BY(mutex_);  // by device
  std::vector<std::shared_ptr<PendingFree>> pending_ SIMCUDA_GUARDED_BY(mutex_);
};
using MemPoolPtr = std::shared_ptr<MemPool>;

HandleTable<CUmemoryPool, MemPool>& MemPools();

// The pool a device came with, and the one it currently uses.
MemPoolPtr DefaultMemPool(Device& device);
MemPoolPtr CurrentMemPool(Device& device);
void SetCurrentMemPool(Device& device, MemPoolPtr pool);

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_MEM_POOL_H_
