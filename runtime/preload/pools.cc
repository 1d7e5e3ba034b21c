#include "runtime/preload/pools.h"

#include <absl/container/flat_hash_map.h>

#include <exception>
#include <optional>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/captures.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/ipc.h"
#include "runtime/preload/peers.h"
#include "runtime/preload/refusals.h"
#include "runtime/preload/resolver.h"
#include "runtime/preload/runtimes.h"
#include "runtime/preload/stream_ordered.h"

namespace vramspan::preload {
namespace {

// Pools that the program made, and default pools that it opened to other devices. True: ours.
struct Known {
  Mutex mu;
  absl::flat_hash_map<CUmemoryPool, bool> pools VS_GUARDED_BY(mu);
};
Known& TheKnown() {
  static Known* const known = new Known;
  return *known;
}

std::optional<bool> KnownAs(CUmemoryPool pool) {
  Known& known = TheKnown();
  MutexLock lock(known.mu);
  const auto it = known.pools.find(pool);
  return it != known.pools.end() ? std::optional<bool>(it->second) : std::nullopt;
}

void Know(CUmemoryPool pool, bool ours) {
  Known& known = TheKnown();
  MutexLock lock(known.mu);
  known.pools[pool] = ours;
}

// What was known of it.
std::optional<bool> Forget(CUmemoryPool pool) {
  Known& known = TheKnown();
  MutexLock lock(known.mu);
  const auto it = known.pools.find(pool);
  if (it == known.pools.end()) return std::nullopt;
  const bool ours = it->second;
  known.pools.erase(it);
  return ours;
}

CUdevice CurrentDevice() {
  static const auto get = DriverFunction<decltype(&::cuCtxGetDevice)>("cuCtxGetDevice");
  CUdevice device = -1;
  return get != nullptr && get(&device) == CUDA_SUCCESS ? device : -1;
}

// Whether memory of the pool comes from the runtime of `device`. Of pools that were made on
// another device the driver has none of ours.
bool IsOurs(CUmemoryPool pool, CUdevice device) {
  if (const std::optional<bool> known = KnownAs(pool)) return *known;
  static const auto get =
      DriverFunction<decltype(&::cuDeviceGetDefaultMemPool)>("cuDeviceGetDefaultMemPool");
  CUmemoryPool preset = nullptr;
  return get != nullptr && get(&preset, device) == CUDA_SUCCESS && preset == pool;
}

bool IsPlain(const CUmemPoolProps& props, CUdevice device) {
  return props.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
         props.handleTypes == CU_MEM_HANDLE_TYPE_NONE &&
         props.location.type == CU_MEM_LOCATION_TYPE_DEVICE && props.location.id == device &&
         props.maxSize == 0 && props.usage == 0;
}

// What a driver's pool has reserved by the time that so much was needed: programs rely on it that
// the next allocations change nothing.
uint64_t InSteps(uint64_t bytes) { return RoundUp(Bytes(bytes), MiB(32)).value; }

// Whether the stream is one of the runtime's context that nobody captures.
bool IsPlainStream(Runtime* runtime, CUstream stream) {
  if (Captures(stream)) return false;
  if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
    return true;
  }
  static const auto get = DriverFunction<decltype(&::cuStreamGetCtx)>("cuStreamGetCtx");
  CUcontext context = nullptr;
  return get != nullptr && get(stream, &context) == CUDA_SUCCESS &&
         context == runtime->memory().options().context;
}

// `call` is the driver's own; `pool` null for the device's current one.
template <typename Call>
CUresult Allocate(Call call, CUdeviceptr* p, size_t size, CUmemoryPool pool, CUstream stream) {
  const auto pass = [&] {
    const CUresult result = WithRescue(size, call);
    if (result == CUDA_SUCCESS && Ready()) Count(Foreign::kPool, size);
    return result;
  };
  if (p == nullptr || size == 0) return call();
  Runtime* const runtime = RuntimeForAllocation();
  if (runtime == nullptr) return AllocationsRefused() ? CUDA_ERROR_SYSTEM_NOT_READY : pass();
  std::optional<OwnCalls> own(std::in_place);
  try {
    const CUdevice device = CurrentDevice();
    if (pool == nullptr) {
      static const auto get = DriverFunction<decltype(&::cuDeviceGetMemPool)>("cuDeviceGetMemPool");
      if (get == nullptr || get(&pool, device) != CUDA_SUCCESS) pool = nullptr;
    }
    if (pool == nullptr || !IsOurs(pool, device) || !IsPlainStream(runtime, stream)) {
      own.reset();
      return pass();
    }
    const StatusOr<CUdeviceptr> memory =
        StreamOrderedOf(runtime)->Allocate(pool, Bytes(size), stream);
    if (!memory.ok()) return Told(memory.status());
    AddAllocated(*memory, size, pool);
    *p = *memory;
    return CUDA_SUCCESS;
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

}  // namespace

template <bool kPerThread>
CUresult MemAllocAsync(decltype(&::cuMemAllocAsync) real, CUdeviceptr* p, size_t size,
                       CUstream stream) {
  return Allocate([&] { return real(p, size, stream); }, p, size, nullptr,
                  Explicit<kPerThread>(stream));
}

template <bool kPerThread>
CUresult MemAllocFromPoolAsync(decltype(&::cuMemAllocFromPoolAsync) real, CUdeviceptr* p,
                               size_t size, CUmemoryPool pool, CUstream stream) {
  const auto call = [&] { return real(p, size, pool, stream); };
  if (pool == nullptr) return call();
  return Allocate(call, p, size, pool, Explicit<kPerThread>(stream));
}

template <bool kPerThread>
CUresult MemFreeAsync(decltype(&::cuMemFreeAsync) real, CUdeviceptr p, CUstream stream) {
  Runtime* const runtime = RuntimeOf(p);
  if (runtime == nullptr) return real(p, stream);
  const OwnCalls own;
  try {
    // Inside a capture the driver refuses what was not allocated there; so it does elsewhere.
    if (!IsPlainStream(runtime, Explicit<kPerThread>(stream))) return real(p, stream);
    const std::optional<Allocated> memory = RemoveAllocated(p);
    if (!memory.has_value()) return CUDA_ERROR_INVALID_VALUE;
    ForgetExported(p);
    const CUresult result = StreamOrderedOf(runtime)->Free(p, Explicit<kPerThread>(stream));
    if (result != CUDA_SUCCESS) RestoreAllocated(*memory);
    return result;
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

template CUresult MemAllocAsync<false>(decltype(&::cuMemAllocAsync), CUdeviceptr*, size_t,
                                       CUstream);
template CUresult MemAllocAsync<true>(decltype(&::cuMemAllocAsync), CUdeviceptr*, size_t, CUstream);
template CUresult MemAllocFromPoolAsync<false>(decltype(&::cuMemAllocFromPoolAsync), CUdeviceptr*,
                                               size_t, CUmemoryPool, CUstream);
template CUresult MemAllocFromPoolAsync<true>(decltype(&::cuMemAllocFromPoolAsync), CUdeviceptr*,
                                              size_t, CUmemoryPool, CUstream);
template CUresult MemFreeAsync<false>(decltype(&::cuMemFreeAsync), CUdeviceptr, CUstream);
template CUresult MemFreeAsync<true>(decltype(&::cuMemFreeAsync), CUdeviceptr, CUstream);

CUresult MemPoolCreate(decltype(&::cuMemPoolCreate) real, CUmemoryPool* pool,
                       const CUmemPoolProps* props) {
  const CUresult result = real(pool, props);
  if (result == CUDA_SUCCESS && Ready()) {
    const OwnCalls own;
    Know(*pool, IsPlain(*props, CurrentDevice()));
  }
  return result;
}

CUresult MemPoolDestroy(decltype(&::cuMemPoolDestroy) real, CUmemoryPool pool) {
  if (!Ready()) return real(pool);
  // Before the call: from then on another pool may have the handle.
  const std::optional<bool> known = Forget(pool);
  const auto all = AllStreamOrdered();
  std::vector<decltype(all.front()->TakeOut(pool))> ours;
  for (const auto& memory : all) ours.push_back(memory->TakeOut(pool));
  const CUresult result = real(pool);
  const OwnCalls own;
  if (result != CUDA_SUCCESS && known.has_value()) Know(pool, *known);
  for (size_t i = 0; i < all.size(); ++i) {
    result == CUDA_SUCCESS ? all[i]->Destroyed(ours[i]) : all[i]->PutBack(ours[i]);
  }
  return result;
}

CUresult MemPoolTrimTo(decltype(&::cuMemPoolTrimTo) real, CUmemoryPool pool, size_t keep) {
  const CUresult result = real(pool, keep);
  if (result != CUDA_SUCCESS || !Ready()) return result;
  const OwnCalls own;
  for (const auto& memory : AllStreamOrdered()) memory->TrimTo(pool, keep);
  return result;
}

CUresult MemPoolSetAttribute(decltype(&::cuMemPoolSetAttribute) real, CUmemoryPool pool,
                             CUmemPool_attribute attribute, void* value) {
  const CUresult result = real(pool, attribute, value);
  const bool used = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
  const bool reserved = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;
  const bool follows = attribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
  if (result != CUDA_SUCCESS || !Ready() || (!used && !reserved && !follows)) return result;
  const OwnCalls own;
  const auto all = AllStreamOrdered();
  for (const auto& memory : all) memory->ResetHighs(pool, used, reserved);
  if (!follows) return result;
  for (const auto& memory : all) memory->FollowEvents(pool, *static_cast<const int*>(value) != 0);
  return result;
}

CUresult MemPoolGetAttribute(decltype(&::cuMemPoolGetAttribute) real, CUmemoryPool pool,
                             CUmemPool_attribute attribute, void* value) {
  const CUresult result = real(pool, attribute, value);
  if (result != CUDA_SUCCESS || !Ready()) return result;
  const OwnCalls own;
  for (const auto& memory : AllStreamOrdered()) {
    const StreamOrdered::Statistics s = memory->Of(pool);
    uint64_t ours = 0;
    switch (attribute) {
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        ours = s.used;
        break;
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        ours = s.used_high;
        break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        ours = InSteps(s.reserved);
        break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        ours = InSteps(s.reserved_high);
        break;
      default:
        return result;
    }
    *static_cast<cuuint64_t*>(value) += ours;
  }
  return result;
}

namespace {

// What was allocated before is ours, and the right is to all of the pool's memory.
CUresult OpenPool(CUmemoryPool pool, const CUmemAccessDesc& access) {
  if (access.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_SUCCESS;
  // To the CPU, and to what newer drivers know, what was given before cannot be opened.
  if (access.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_SUCCESS;
  for (const auto& memory : AllStreamOrdered()) {
    Runtime& runtime = memory->runtime();
    const int device = access.location.id;
    if (memory->Of(pool).reserved == 0 || device == runtime.memory().options().ordinal) continue;
    if (const Status s = OpenTo(device, &runtime); !s.ok()) return ToCuResult(s);
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult MemPoolSetAccess(decltype(&::cuMemPoolSetAccess) real, CUmemoryPool pool,
                          const CUmemAccessDesc* access, size_t count) {
  const CUresult result = real(pool, access, count);
  if (result != CUDA_SUCCESS || !Ready()) return result;
  const OwnCalls own;
  const CUdevice device = CurrentDevice();
  for (size_t i = 0; i < count; ++i) {
    if (access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && access[i].location.id == device) {
      continue;
    }
    // Chunks are mapped for their own device: from here on the pool's memory is the driver's.
    Know(pool, false);
    const CUresult opened = OpenPool(pool, access[i]);
    if (opened != CUDA_SUCCESS) return opened;
  }
  return result;
}

void NoteSynchronised() {
  const OwnCalls own;
  for (const auto& memory : AllStreamOrdered()) memory->Synchronised();
}

}  // namespace vramspan::preload
