#include "runtime/preload/vmm_table.h"

#include <absl/strings/str_format.h>

#include <exception>
#include <iterator>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/memory/remap.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/refusals.h"

namespace vramspan::preload {
namespace {

// Not canonical as an address, and not a small number: a driver's handles are either.
constexpr uint64_t kFirst = uint64_t{0x7653} << 48;
constexpr uint64_t kMask = uint64_t{0xffff} << 48;

// A mapping of the driver's handle somewhere, for as long as the copy takes.
Status CopyInto(Runtime* runtime, const DetachedMemory& detached, CUmemGenericAllocationHandle real,
                size_t size) {
  const Driver& driver = *runtime->driver();
  CUdeviceptr at = 0;
  VS_RETURN_IF_ERROR(Check(driver->MemAddressReserve(&at, size, 0, 0, 0), "cuMemAddressReserve"));
  const DevicePtr to(at);
  Status status =
      MapAt(driver, Accessors(runtime->memory().options().ordinal), to, Bytes(size), real);
  if (status.ok()) {
    status = runtime->memory().vmm().CopyDetached(detached, to);
    driver.RecordBackgroundError(
        Check(driver->MemUnmap(at, size), "cuMemUnmap", RangeText(to, Bytes(size))));
  }
  driver.RecordBackgroundError(Check(driver->MemAddressFree(at, size), "cuMemAddressFree"));
  return status;
}

void LogStays(size_t size, const char* why) {
  Log(LogLevel::kInfo, absl::StrFormat("%d MiB that the program made with cuMemCreate stay on the "
                                       "device: %s",
                                       size >> 20, why));
}

}  // namespace

VmmTable& VmmTable::Get() {
  static VmmTable* const table = new VmmTable;
  return *table;
}

bool VmmTable::IsOurs(CUmemGenericAllocationHandle handle) { return (handle & kMask) == kFirst; }

CUmemGenericAllocationHandle VmmTable::Add(VmmHandle handle) {
  const CUmemGenericAllocationHandle value = kFirst | next++;
  handles.emplace(value, std::move(handle));
  return value;
}

VmmHandle* VmmTable::Find(CUmemGenericAllocationHandle handle) {
  const auto it = handles.find(handle);
  return it == handles.end() ? nullptr : &it->second;
}

VmmHandle* VmmTable::FindIdle(CUmemGenericAllocationHandle handle) {
  for (;;) {
    VmmHandle* const h = Find(handle);
    if (h == nullptr || !h->at_work) return h;
    changed.Wait(mu);
  }
}

VmmReservation* VmmTable::ReservationOf(CUdeviceptr p) {
  const auto after = reservations.upper_bound(p);
  if (after == reservations.begin()) return nullptr;
  const auto it = std::prev(after);
  return p - it->first < it->second.size ? &it->second : nullptr;
}

VmmMapping* VmmTable::MappingOf(CUdeviceptr p, CUdeviceptr* base) {
  VmmReservation* const r = ReservationOf(p);
  // Addresses of a runtime that has ended may be another's.
  if (r == nullptr || r->runtime == nullptr) return nullptr;
  const auto after = r->mappings.upper_bound(p);
  if (after == r->mappings.begin()) return nullptr;
  const auto it = std::prev(after);
  if (p - it->first >= it->second.size) return nullptr;
  *base = it->first;
  return &it->second;
}

bool VmmTable::CutsNoMapping(CUdeviceptr p, size_t size) {
  VmmReservation* const r = ReservationOf(p);
  if (r == nullptr || size == 0) return false;
  const CUdeviceptr base = std::prev(reservations.upper_bound(p))->first;
  if (size > r->size - (p - base)) return false;
  const auto cut = [&](CUdeviceptr at) {
    const auto after = r->mappings.lower_bound(at);
    if (after == r->mappings.begin()) return false;
    const auto before = std::prev(after);
    return at - before->first < before->second.size;
  };
  return !cut(p) && !cut(p + size);
}

bool VmmTable::WholeMappings(CUdeviceptr p, size_t size) {
  VmmReservation* const r = ReservationOf(p);
  if (r == nullptr || size == 0) return false;
  for (auto it = r->mappings.find(p); it != r->mappings.end() && it->first == p; ++it) {
    if (it->second.size > size) return false;
    p += it->second.size;
    size -= it->second.size;
    if (size == 0) return true;
  }
  return false;
}

void VmmTable::DropIfUnused(CUmemGenericAllocationHandle handle) {
  VmmHandle* const h = Find(handle);
  if (h == nullptr || h->at_work || h->references > 0 || !h->mapped.empty()) return;
  if (h->runtime != nullptr && h->detached.has_value()) {
    h->runtime->memory().vmm().ReleaseDetached(*std::move(h->detached));
  }
  handles.erase(handle);
}

Status VmmTable::Aside(absl::Span<const CUmemGenericAllocationHandle> which,
                       absl::FunctionRef<Status()> body) {
  for (const CUmemGenericAllocationHandle handle : which) Find(handle)->at_work = true;
  mu.Unlock();
  Status status;
  try {
    status = body();
  } catch (const std::exception& e) {
    status = absl::ResourceExhaustedError(e.what());
  }
  mu.Lock();
  for (const CUmemGenericAllocationHandle handle : which) Find(handle)->at_work = false;
  changed.NotifyAll();
  return status;
}

Status VmmTable::Hold(CUmemGenericAllocationHandle handle, const char* why) {
  VmmHandle& h = *Find(handle);
  if (h.held) return absl::OkStatus();
  const DevicePtr at(h.mapped.front());
  VS_RETURN_IF_ERROR(
      Aside({&handle, 1}, [&] { return h.runtime->mover().Hold(at, Bytes(h.size)); }));
  h.held = true;
  LogStays(h.size, why);
  return absl::OkStatus();
}

void VmmTable::LetGo(VmmHandle* h) {
  if (!h->held || h->runtime == nullptr || h->mapped.size() > 1) return;
  if (!h->mapped.empty()) {
    CUdeviceptr base = 0;
    const VmmMapping* const mapping = MappingOf(h->mapped.front(), &base);
    if (mapping != nullptr && !mapping->others.empty()) return;
    h->runtime->driver()->RecordBackgroundError(
        h->runtime->mover().Unpin(DevicePtr(h->mapped.front()), Bytes(h->size)));
  }
  h->held = false;
}

CUresult VmmTable::Realise(CUmemGenericAllocationHandle handle, const char* why) {
  VmmHandle& h = *Find(handle);
  if (h.real != 0) return CUDA_SUCCESS;
  if (h.runtime == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Driver& driver = *h.runtime->driver();
  std::map<CUdeviceptr, std::vector<CUmemAccessDesc>> others;
  for (const CUdeviceptr at : h.mapped) {
    CUdeviceptr base = 0;
    for (const auto& [who, access] : MappingOf(at, &base)->others) others[at].push_back(access);
  }
  CUmemGenericAllocationHandle real = 0;
  // What else changes these has to wait.
  const auto make = [&]() VS_NO_THREAD_SAFETY_ANALYSIS -> Status {
    const CUresult created =
        WithRescue(h.size, [&] { return driver->MemCreate(&real, h.size, &h.properties, 0); });
    if (created != CUDA_SUCCESS) {
      return DriverError(created, "cuMemCreate", absl::StrFormat("%d, %s", h.size, why));
    }
    const auto copy = [&](const DetachedMemory& detached) {
      return h.used ? CopyInto(h.runtime, detached, real, h.size) : absl::OkStatus();
    };
    const auto open = [&](DevicePtr at) {
      const auto it = others.find(at.value);
      if (it == others.end()) return absl::OkStatus();
      return Check(driver->MemSetAccess(at.value, h.size, it->second.data(), it->second.size()),
                   "cuMemSetAccess", RangeText(at, Bytes(h.size)));
    };
    Status status;
    if (h.mapped.empty()) {
      status = copy(*h.detached);
    } else {
      std::vector<DevicePtr> mappings;
      for (const CUdeviceptr at : h.mapped) mappings.emplace_back(at);
      StatusOr<DetachedMemory> detached =
          h.runtime->ReplaceLoose(mappings, Bytes(h.size), real, copy, open);
      status = detached.status();
      if (detached.ok()) h.detached = *std::move(detached);
    }
    if (!status.ok()) driver.RecordBackgroundError(Check(driver->MemRelease(real), "cuMemRelease"));
    return status;
  };
  if (const Status made = Aside({&handle, 1}, make); !made.ok()) {
    DropIfUnused(handle);
    return Told(made);
  }
  h.runtime->memory().vmm().ReleaseDetached(*std::exchange(h.detached, std::nullopt));
  Count(Foreign::kHandle, h.size);
  LogStays(h.size, why);
  h.real = real;
  h.held = false;
  for (const CUdeviceptr at : std::exchange(h.mapped, {})) {
    CUdeviceptr base = 0;
    MappingOf(at, &base)->handle = 0;
    RemoveAllocated(at);
  }
  if (h.references == 0) {
    // The program gave it back meanwhile.
    driver.RecordBackgroundError(Check(driver->MemRelease(real), "cuMemRelease"));
    DropIfUnused(handle);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void ForgetVmmOf(Runtime* runtime) {
  VmmTable& table = VmmTable::Get();
  MutexLock lock(table.mu);
  for (auto it = table.handles.begin(); it != table.handles.end();) {
    if (it->second.runtime == runtime && it->second.at_work) {
      table.changed.Wait(table.mu);
      it = table.handles.begin();
    } else {
      ++it;
    }
  }
  for (auto& [value, handle] : table.handles) {
    if (handle.runtime != runtime) continue;
    handle.runtime = nullptr;
    handle.detached.reset();
    handle.mapped.clear();
    handle.held = false;
  }
  for (auto& [base, reservation] : table.reservations) {
    if (reservation.runtime != runtime) continue;
    reservation.runtime = nullptr;
    // The addresses can only be given back with nothing mapped there.
    const Driver& driver = *runtime->driver();
    for (const auto& [p, mapping] : reservation.mappings) {
      if (mapping.handle != 0) continue;
      driver.RecordBackgroundError(Check(driver->MemUnmap(p, mapping.size), "cuMemUnmap",
                                         RangeText(DevicePtr(p), Bytes(mapping.size))));
    }
  }
}

}  // namespace vramspan::preload
