#include "tools/simcuda/memory/mem_pool.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/simcuda/context.h"
#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/pages.h"

namespace simcuda::memory {
namespace {

struct DevicePools {
  MemPoolPtr default_pool;
  MemPoolPtr current;
};

// What an H200's pool takes at once; here it is only said.
constexpr size_t kStep = size_t{32} << 20;

Mutex pools_mutex;

DevicePools& PoolsOf(Device& device) SIMCUDA_REQUIRES(pools_mutex) {
  static auto* const pools =
      new std::vector<DevicePools>(static_cast<size_t>(Driver::Get().device_count()));
  DevicePools& own = (*pools)[static_cast<size_t>(device.ordinal())];
  if (!own.default_pool) {
    CUmemPoolProps props = {};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal()};
    own.default_pool = std::make_shared<MemPool>(device, props);
    own.default_pool->set_handle(MemPools().Insert(own.default_pool));
    own.current = own.default_pool;
  }
  return own;
}

size_t BlockSize(size_t size) {
  return RoundUp(size, size <= BlockHeap::kLargestShared ? BlockHeap::kAlignment : kGranularity);
}

}  // namespace

char* MemPool::TakeOver(uint64_t stream_id, size_t size) {
  MutexLock lock(mutex_);
  for (const auto& pending : pending_) {
    if (pending->stream_id != stream_id || pending->base == nullptr) continue;
    if (BlockSize(pending->size) != BlockSize(size)) continue;
    return std::exchange(pending->base, nullptr);
  }
  return nullptr;
}

CUresult MemPool::Allocate(uint64_t stream_id, const Context& context, size_t size,
                           CUdeviceptr* address) {
  char* base = TakeOver(stream_id, size);
  if (base == nullptr) base = heap_.Allocate(size);
  if (base == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  Range range;
  range.base = base;
  range.size = size;
  range.kind = RangeKind::kPool;
  range.device = &device_;
  range.context = context.handle();
  range.pool = shared_from_this();
  range.block = heap_.BlockOf(base);
  AddressMap::Get().Insert(std::move(range));
  *address = reinterpret_cast<CUdeviceptr>(base);
  return CUDA_SUCCESS;
}

std::shared_ptr<MemPool::PendingFree> MemPool::BeginFree(uint64_t stream_id, const Range& range) {
  auto pending = std::make_shared<PendingFree>(PendingFree{stream_id, range.base, range.size});
  MutexLock lock(mutex_);
  pending_.push_back(pending);
  return pending;
}

void MemPool::EndFree(const std::shared_ptr<PendingFree>& pending) {
  char* base;
  {
    MutexLock lock(mutex_);
    pending_.erase(std::find(pending_.begin(), pending_.end(), pending));
    base = std::exchange(pending->base, nullptr);
  }
  if (base != nullptr) heap_.Free(base);
}

void MemPool::CancelFree(const std::shared_ptr<PendingFree>& pending) {
  MutexLock lock(mutex_);
  pending_.erase(std::find(pending_.begin(), pending_.end(), pending));
}

CUresult MemPool::SetAttribute(CUmemPool_attribute attribute, const void* value) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      reuse_[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] =
          *static_cast<const int*>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      threshold_ = *static_cast<const cuuint64_t*>(value);
      heap_.set_keep(threshold_);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      // Only a reset is allowed.
      if (*static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      heap_.ResetHighs(attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                       attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult MemPool::GetAttribute(CUmemPool_attribute attribute, void* value) {
  auto* wide = static_cast<cuuint64_t*>(value);
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      *static_cast<int*>(value) =
          reuse_[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *wide = threshold_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      *wide = RoundUp(heap_.reserved(), kStep);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      *wide = RoundUp(heap_.reserved_high(), kStep);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      *wide = heap_.used();
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      *wide = heap_.used_high();
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void MemPool::SetAccess(int device, CUmemAccess_flags flags) {
  MutexLock lock(mutex_);
  access_[device] = flags;
}

CUmemAccess_flags MemPool::AccessOf(int device) const {
  if (device == device_.ordinal()) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  MutexLock lock(mutex_);
  const auto it = access_.find(device);
  return it != access_.end() ? it->second : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

HandleTable<CUmemoryPool, MemPool>& MemPools() {
  static auto* const table = new HandleTable<CUmemoryPool, MemPool>();
  return *table;
}

MemPoolPtr DefaultMemPool(Device& device) {
  MutexLock lock(pools_mutex);
  return PoolsOf(device).default_pool;
}

MemPoolPtr CurrentMemPool(Device& device) {
  MutexLock lock(pools_mutex);
  return PoolsOf(device).current;
}

void SetCurrentMemPool(Device& device, MemPoolPtr pool) {
  MutexLock lock(pools_mutex);
  PoolsOf(device).current = std::move(pool);
}

}  // namespace simcuda::memory
