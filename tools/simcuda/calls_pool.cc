#include "tools/simcuda/calls_pool.h"

#include <memory>
#include <utility>

#include "tools/simcuda/driver.h"
#include "tools/simcuda/memory/allocations.h"
#include "tools/simcuda/memory/mem_pool.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {
namespace {

using memory::AddressMap;
using memory::MemPool;
using memory::MemPoolPtr;
using memory::MemPools;
using memory::RangeKind;
using memory::RangePtr;

// Memory comes back when the stream gets here, or when the context has died.
class FreeOp : public Op {
 public:
  FreeOp(MemPoolPtr pool, std::shared_ptr<MemPool::PendingFree> pending)
      : Op(OpKind::kFree), pool_(std::move(pool)), pending_(std::move(pending)) {}
  CUresult Run(const Exec& /*exec*/) const override {
    pool_->EndFree(pending_);
    return CUDA_SUCCESS;
  }
  void Skip(CUresult /*error*/) const override { pool_->EndFree(pending_); }

 private:
  const MemPoolPtr pool_;
  const std::shared_ptr<MemPool::PendingFree> pending_;
};

CUresult FindPool(CUmemoryPool handle, MemPoolPtr* pool) {
  *pool = MemPools().Find(handle);
  return *pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult FindDevice(const CUmemLocation* location, CUmemAllocationType type, Device** device) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (location->type == CU_MEM_LOCATION_TYPE_INVALID) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  *device = Driver::Get().device(location->id);
  return *device != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult Allocate(MemPool& pool, Stream& stream, size_t size, CUdeviceptr* address) {
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (size == 0) {
    *address = 0;
    return CUDA_SUCCESS;
  }
  // Memory that a graph allocates is not part of simcuda.
  if (stream.capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (const CUresult r = stream.context()->error(); r != CUDA_SUCCESS) return r;
  return pool.Allocate(stream.id(), *stream.context(), size, address);
}

}  // namespace

CUresult MemPoolCreate(CUmemoryPool* handle, const CUmemPoolProps* props) {
  Device* device;
  if (handle == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  const CUresult r = FindDevice(&props->location, props->allocType, &device);
  if (r != CUDA_SUCCESS) return r;
  auto pool = std::make_shared<MemPool>(*device, *props);
  *handle = MemPools().NewHandle();
  pool->set_handle(*handle);
  MemPools().InsertAs(*handle, std::move(pool));
  return CUDA_SUCCESS;
}

// Allocations keep the pool's memory; it goes when the last of them is freed.
CUresult MemPoolDestroy(CUmemoryPool handle) {
  MemPoolPtr pool;
  if (const CUresult r = FindPool(handle, &pool); r != CUDA_SUCCESS) return r;
  if (pool == memory::DefaultMemPool(pool->device())) return CUDA_ERROR_INVALID_VALUE;
  if (!MemPools().Remove(handle)) return CUDA_ERROR_INVALID_VALUE;
  if (pool == memory::CurrentMemPool(pool->device())) {
    memory::SetCurrentMemPool(pool->device(), memory::DefaultMemPool(pool->device()));
  }
  pool->heap().set_keep(0);
  pool->heap().Trim(0);
  return CUDA_SUCCESS;
}

CUresult MemPoolTrimTo(CUmemoryPool handle, size_t keep) {
  MemPoolPtr pool;
  if (const CUresult r = FindPool(handle, &pool); r != CUDA_SUCCESS) return r;
  pool->heap().Trim(keep);
  return CUDA_SUCCESS;
}

CUresult MemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  MemPoolPtr pool;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindPool(handle, &pool); r != CUDA_SUCCESS) return r;
  return pool->SetAttribute(attribute, value);
}

CUresult MemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  MemPoolPtr pool;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindPool(handle, &pool); r != CUDA_SUCCESS) return r;
  return pool->GetAttribute(attribute, value);
}

CUresult MemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* descs, size_t count) {
  MemPoolPtr pool;
  if (descs == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindPool(handle, &pool); r != CUDA_SUCCESS) return r;
  for (size_t i = 0; i < count; ++i) {
    if (descs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (Driver::Get().device(descs[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  }
  for (size_t i = 0; i < count; ++i) pool->SetAccess(descs[i].location.id, descs[i].flags);
  return CUDA_SUCCESS;
}

CUresult MemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool handle, CUmemLocation* location) {
  MemPoolPtr pool;
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindPool(handle, &pool); r != CUDA_SUCCESS) return r;
  *flags = location->type == CU_MEM_LOCATION_TYPE_DEVICE ? pool->AccessOf(location->id)
                                                         : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

CUresult DeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  return MemGetDefaultMemPool(pool, &location, CU_MEM_ALLOCATION_TYPE_PINNED);
}

CUresult DeviceGetMemPool(CUmemoryPool* pool, CUdevice ordinal) {
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  return MemGetMemPool(pool, &location, CU_MEM_ALLOCATION_TYPE_PINNED);
}

CUresult DeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool) {
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  return MemSetMemPool(&location, CU_MEM_ALLOCATION_TYPE_PINNED, pool);
}

CUresult MemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                              CUmemAllocationType type) {
  Device* device;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(location, type, &device); r != CUDA_SUCCESS) return r;
  *pool = memory::DefaultMemPool(*device)->handle();
  return CUDA_SUCCESS;
}

CUresult MemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  Device* device;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult r = FindDevice(location, type, &device); r != CUDA_SUCCESS) return r;
  *pool = memory::CurrentMemPool(*device)->handle();
  return CUDA_SUCCESS;
}

CUresult MemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool handle) {
  Device* device;
  MemPoolPtr pool;
  if (const CUresult r = FindDevice(location, type, &device); r != CUDA_SUCCESS) return r;
  if (const CUresult r = FindPool(handle, &pool); r != CUDA_SUCCESS) return r;
  if (&pool->device() != device) return CUDA_ERROR_INVALID_VALUE;
  memory::SetCurrentMemPool(*device, std::move(pool));
  return CUDA_SUCCESS;
}

CUresult MemAllocAsync(CUdeviceptr* address, size_t size, CUstream handle) {
  StreamPtr stream;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  const MemPoolPtr pool = memory::CurrentMemPool(stream->context()->device());
  return Allocate(*pool, *stream, size, address);
}

CUresult MemAllocFromPoolAsync(CUdeviceptr* address, size_t size, CUmemoryPool pool_handle,
                               CUstream stream_handle) {
  StreamPtr stream;
  MemPoolPtr pool;
  if (const CUresult r = FindStream(stream_handle, &stream); r != CUDA_SUCCESS) return r;
  if (const CUresult r = FindPool(pool_handle, &pool); r != CUDA_SUCCESS) return r;
  return Allocate(*pool, *stream, size, address);
}

CUresult MemFreeAsync(CUdeviceptr address, CUstream handle) {
  StreamPtr stream;
  if (const CUresult r = FindStream(handle, &stream); r != CUDA_SUCCESS) return r;
  if (address == 0) return CUDA_SUCCESS;
  if (stream->capturing()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  RangePtr range = AddressMap::Get().Remove(address, RangeKind::kPool);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  auto pending = range->pool->BeginFree(stream->id(), *range);
  const CUresult r = stream->Submit(std::make_shared<FreeOp>(range->pool, pending));
  if (r == CUDA_SUCCESS) return r;
  if (stream->context()->error() != CUDA_SUCCESS) {
    range->pool->EndFree(pending);
  } else {
    range->pool->CancelFree(pending);
    AddressMap::Get().Insert(*range);
  }
  return r;
}

}  // namespace simcuda::calls
