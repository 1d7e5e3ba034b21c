#include "runtime/preload/vmm.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/process.h"
#include "runtime/preload/refusals.h"
#include "runtime/preload/runtimes.h"
#include "runtime/preload/stream_ordered.h"
#include "runtime/preload/vmm_table.h"

namespace vramspan::preload {
namespace {

bool Granular(uint64_t value) { return value % kGranularity.value == 0; }

// What a hook does with tables and runtimes: as calls of our own, and no exception leaves it.
template <typename Body>
CUresult Guarded(Body body) {
  const OwnCalls own;
  try {
    return body();
  } catch (const std::exception& e) {
    Log(LogLevel::kError, e.what());
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// What a newer driver may know by fields and values that this build does not is the driver's.
bool MayBeOurs(const CUmemAllocationProp& p) {
  const auto& reserved = p.allocFlags.reserved;
  if (std::any_of(std::begin(reserved), std::end(reserved), [](auto byte) { return byte != 0; })) {
    return false;
  }
  const bool plain_handle = p.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
                            p.requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return p.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         p.location.type == CU_MEM_LOCATION_TYPE_DEVICE && plain_handle &&
         p.allocFlags.compressionType == CU_MEM_ALLOCATION_COMP_NONE && p.allocFlags.usage == 0;
}

// Work in other contexts of the device is not seen, so what is made there is the driver's.
Runtime* RuntimeForMemoryOf(CUdevice device) {
  Runtime* const current = RuntimeForAllocation();
  if (current == nullptr && (CurrentContext() != nullptr || LeftToDriver())) return nullptr;
  return RuntimeOfDevice(device);
}

// Whether something is mapped there, or the range leaves the reservation.
bool IsTaken(const VmmReservation& r, CUdeviceptr base, CUdeviceptr p, size_t size) {
  if (size > r.size - (p - base)) return true;
  const auto next = r.mappings.lower_bound(p);
  if (next != r.mappings.end() && next->first - p < size) return true;
  if (next == r.mappings.begin()) return false;
  const auto before = std::prev(next);
  return p - before->first < before->second.size;
}

CUresult ReleaseOurs(decltype(&::cuMemRelease) real, CUmemGenericAllocationHandle handle) {
  return Guarded([&] {
    VmmTable& table = VmmTable::Get();
    MutexLock lock(table.mu);
    VmmHandle* const h = table.Find(handle);
    if (h == nullptr || h->references == 0) return CUDA_ERROR_INVALID_VALUE;
    if (--h->references != 0) return CUDA_SUCCESS;
    const CUresult result = h->real != 0 ? real(h->real) : CUDA_SUCCESS;
    table.DropIfUnused(handle);
    return result;
  });
}

// What is mapped in [p, p + size), once none of its handles is at work.
struct InRange {
  std::vector<CUmemGenericAllocationHandle> handles;  // Each once.
  std::vector<CUmemGenericAllocationHandle> mapped;   // By mapping as chunks,
  std::vector<DevicePtr> at;                          // and where that is.
  bool drivers = false;                               // The driver knows of others.
  bool at_work = false;
};

InRange MappedIn(VmmTable& table, const VmmReservation& r, CUdeviceptr p, size_t size)
    VS_REQUIRES(table.mu) {
  InRange known;
  for (auto it = r.mappings.lower_bound(p); it != r.mappings.end() && it->first - p < size; ++it) {
    const VmmHandle* const h = it->second.handle != 0 ? table.Find(it->second.handle) : nullptr;
    known.drivers = known.drivers || it->second.handle == 0;
    if (h == nullptr) continue;
    known.at_work = known.at_work || h->at_work;
    if (!absl::c_linear_search(known.handles, it->second.handle)) {
      known.handles.push_back(it->second.handle);
    }
    if (h->runtime == nullptr) continue;
    known.mapped.push_back(it->second.handle);
    known.at.emplace_back(it->first);
  }
  return known;
}

// All of it or, on an error, nothing.
CUresult UnmapKnown(decltype(&::cuMemUnmap) real, CUdeviceptr p, size_t size) {
  return Guarded([&] {
    VmmTable& table = VmmTable::Get();
    MutexLock lock(table.mu);
    for (;;) {
      VmmReservation* const r = table.ReservationOf(p);
      if (r == nullptr) return RuntimeOf(p) != nullptr ? CUDA_ERROR_INVALID_VALUE : real(p, size);
      if (!Granular(p) || !Granular(size) || !table.CutsNoMapping(p, size)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      const InRange known = MappedIn(table, *r, p, size);
      if (known.at_work) {
        table.changed.Wait(table.mu);
        continue;
      }
      std::vector<DetachedMemory> detached;
      if (!known.at.empty()) {
        const Status unmapped = table.Aside(known.handles, [&] {
          VS_ASSIGN_OR_RETURN(detached,
                              r->runtime->UnmapLoose(known.at, DevicePtr(p), Bytes(size)));
          return absl::OkStatus();
        });
        if (!unmapped.ok()) return Told(unmapped);
      } else if (known.drivers && r->runtime != nullptr) {
        const CUresult result = real(p, size);
        if (result != CUDA_SUCCESS) return result;
      }
      r->mappings.erase(r->mappings.lower_bound(p), r->mappings.lower_bound(p + size));
      for (size_t i = 0; i < known.at.size(); ++i) {
        VmmHandle* const h = table.Find(known.mapped[i]);
        std::erase(h->mapped, known.at[i].value);
        if (h->mapped.empty()) h->detached = std::move(detached[i]);
        RemoveAllocated(known.at[i].value);
      }
      for (const CUmemGenericAllocationHandle handle : known.handles) {
        table.LetGo(table.Find(handle));
        table.DropIfUnused(handle);
      }
      return CUDA_SUCCESS;
    }
  });
}

// Maps it as chunks, once more where it is mapped already.
CUresult MapOurs(VmmTable& table, VmmReservation* r, CUdeviceptr p,
                 CUmemGenericAllocationHandle handle) VS_REQUIRES(table.mu) {
  VmmHandle* const h = table.Find(handle);
  // It is there for the program from here on: nobody else takes the place meanwhile.
  r->mappings.emplace(p, VmmMapping{h->size, handle});
  Status mapped;
  if (h->mapped.empty()) {
    mapped = h->runtime->memory().vmm().MapDetached(*h->detached, DevicePtr(p));
  } else {
    mapped = table.Hold(handle, "it is mapped twice");
    if (mapped.ok()) {
      mapped = h->runtime->memory().vmm().MapAgain(DevicePtr(h->mapped.front()), DevicePtr(p));
    }
  }
  if (!mapped.ok()) {
    r->mappings.erase(p);
    table.LetGo(h);
    table.DropIfUnused(handle);
    return Told(mapped);
  }
  h->detached.reset();
  h->used = true;
  h->mapped.push_back(p);
  AddAllocated(p, h->size);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult MemAddressReserve(decltype(&::cuMemAddressReserve) real, CUdeviceptr* p, size_t size,
                           size_t alignment, CUdeviceptr wanted, unsigned long long flags) {
  const bool ordinary = p != nullptr && size != 0 && Granular(size) && wanted == 0 && flags == 0 &&
                        (alignment & (alignment - 1)) == 0;
  Runtime* const runtime = ordinary ? RuntimeForAllocation() : nullptr;
  if (runtime == nullptr) return real(p, size, alignment, wanted, flags);
  CUdeviceptr base = 0;
  const CUresult result = Guarded([&] {
    VmmTable& table = VmmTable::Get();
    MutexLock lock(table.mu);
    const StatusOr<DevicePtr> taken =
        runtime->memory().vmm().Reserve(Bytes(size), Bytes(alignment));
    if (!taken.ok()) return Told(taken.status());
    base = taken->value;
    // What is left of a runtime that has ended may have had the same addresses.
    std::erase_if(table.reservations, [&](const auto& other) {
      return other.first - base < size || base - other.first < other.second.size;
    });
    table.reservations.emplace(base, VmmReservation{runtime, size});
    return CUDA_SUCCESS;
  });
  // The arena may be too small for it.
  if (result != CUDA_SUCCESS) return real(p, size, alignment, wanted, flags);
  *p = base;
  return CUDA_SUCCESS;
}

CUresult MemAddressFree(decltype(&::cuMemAddressFree) real, CUdeviceptr p, size_t size) {
  if (!Ready()) return real(p, size);
  VmmTable& table = VmmTable::Get();
  {
    MutexLock lock(table.mu);
    if (VmmReservation* const r = table.ReservationOf(p)) {
      return Guarded([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
        if (!table.reservations.contains(p) || r->size != size || !r->mappings.empty()) {
          return CUDA_ERROR_INVALID_VALUE;
        }
        const Status given = r->runtime != nullptr
                                 ? r->runtime->memory().vmm().Unreserve(DevicePtr(p), Bytes(size))
                                 : absl::OkStatus();
        if (given.ok()) table.reservations.erase(p);
        return Told(given);
      });
    }
  }
  return RuntimeOf(p) != nullptr ? CUDA_ERROR_INVALID_VALUE : real(p, size);
}

CUresult VmmCreate(decltype(&::cuMemCreate) real, CUmemGenericAllocationHandle* handle, size_t size,
                   const CUmemAllocationProp* properties, unsigned long long flags) {
  const bool ordinary = handle != nullptr && properties != nullptr && flags == 0 && size != 0 &&
                        Granular(size) && MayBeOurs(*properties);
  Runtime* const runtime = ordinary ? RuntimeForMemoryOf(properties->location.id) : nullptr;
  if (runtime == nullptr) {
    if (ordinary && AllocationsRefused()) return CUDA_ERROR_SYSTEM_NOT_READY;
    return MemCreate(real, handle, size, properties, flags);
  }
  return Guarded([&] {
    StatusOr<DetachedMemory> detached =
        WithRoomOfPools(runtime, Bytes(size), [&] { return runtime->MakeDetached(Bytes(size)); });
    if (!detached.ok()) return Told(detached.status());
    VmmHandle made;
    made.runtime = runtime;
    made.properties = *properties;
    made.size = size;
    made.detached = *std::move(detached);
    VmmTable& table = VmmTable::Get();
    MutexLock lock(table.mu);
    *handle = table.Add(std::move(made));
    return CUDA_SUCCESS;
  });
}

// What was made real may go here, and in MemUnmap, where it was released before.
CUresult MemRelease(decltype(&::cuMemRelease) real, CUmemGenericAllocationHandle handle) {
  if (!VmmTable::IsOurs(handle)) return WithReturn([&] { return real(handle); });
  if (!Ready()) return CUDA_ERROR_NOT_INITIALIZED;
  return WithReturn([&] { return ReleaseOurs(real, handle); });
}

CUresult MemMap(decltype(&::cuMemMap) real, CUdeviceptr p, size_t size, size_t offset,
                CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const bool ours = VmmTable::IsOurs(handle);
  if (!Ready()) {
    return ours ? CUDA_ERROR_NOT_INITIALIZED : real(p, size, offset, handle, flags);
  }
  return Guarded([&] {
    VmmTable& table = VmmTable::Get();
    MutexLock lock(table.mu);
    for (;;) {
      VmmHandle* const h = ours ? table.FindIdle(handle) : nullptr;
      VmmReservation* const r = table.ReservationOf(p);
      if (ours) {
        const bool valid = h != nullptr && h->references != 0 && size != 0 && Granular(p) &&
                           Granular(size) && Granular(offset);
        if (!valid) return CUDA_ERROR_INVALID_VALUE;
        if (offset != 0 || size != h->size) return CUDA_ERROR_NOT_SUPPORTED;
      }
      // Addresses of ours that the program did not reserve are none of its.
      if (r == nullptr && RuntimeOf(p) != nullptr) return CUDA_ERROR_INVALID_VALUE;
      if (r != nullptr) {
        const CUdeviceptr base = std::prev(table.reservations.upper_bound(p))->first;
        if (r->runtime == nullptr || IsTaken(*r, base, p, size)) return CUDA_ERROR_INVALID_VALUE;
      }
      if (h == nullptr || h->real != 0) {
        const CUresult result = real(p, size, offset, h != nullptr ? h->real : handle, flags);
        if (result == CUDA_SUCCESS && r != nullptr) r->mappings.emplace(p, VmmMapping{size, 0});
        return result;
      }
      const char* why = nullptr;
      if (h->properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE && r != nullptr &&
          r->size == h->size && h->mapped.empty()) {
        why = "it has a reservation of its own and may be exported";
      }
      if (r == nullptr || r->runtime != h->runtime) {
        why = "it is mapped where vramspan cannot move it";
      }
      if (flags != 0) why = "it is mapped with flags";
      if (why == nullptr) return MapOurs(table, r, p, handle);
      const CUresult result = table.Realise(handle, why);
      if (result != CUDA_SUCCESS) return result;
    }
  });
}

CUresult MemUnmap(decltype(&::cuMemUnmap) real, CUdeviceptr p, size_t size) {
  if (!Ready()) return real(p, size);
  return WithReturn([&] { return UnmapKnown(real, p, size); });
}

}  // namespace vramspan::preload
