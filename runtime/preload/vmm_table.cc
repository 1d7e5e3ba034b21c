#include "runtime/preload/vmm_table.h"

#include <absl/strings/str_format.h>

#include <iterator>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/mover/remap.h"
#include "runtime/preload/allocated.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/refusals.h"

namespace vramspan::preload {
namespace {

// Not canonical as an address, and not a small number: a driver's handles are either.
constexpr uint64_t kFirst = uint64_t{0x7653} << 48;
constexpr uint64_t kMask = uint64_t{0xffff} << 48;

// A mapping of the driver's handle somewhere, for as long as the copy takes.
Status CopyInto(Runtime* runtime, const Memory::Loose& loose, CUmemGenericAllocationHandle real,
                size_t size) {
  const Driver& driver = *runtime->driver();
  CUdeviceptr at = 0;
  VS_RETURN_IF_ERROR(Check(driver->MemAddressReserve(&at, size, 0, 0, 0), "cuMemAddressReserve"));
  const DevicePtr to(at);
  Status status =
      MapAt(driver, Accessors(runtime->memory().options().ordinal), to, Bytes(size), real);
  if (status.ok()) {
    status = runtime->memory().CopyLoose(loose, to);
    driver.Note(Check(driver->MemUnmap(at, size), "cuMemUnmap", RangeText(to, Bytes(size))));
  }
  driver.Note(Check(driver->MemAddressFree(at, size), "cuMemAddressFree"));
  return status;
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
  if (h == nullptr || h->references > 0 || h->mapped != 0) return;
  if (h->runtime != nullptr && h->loose.has_value()) {
    h->runtime->memory().ReleaseLoose(*std::move(h->loose));
  }
  handles.erase(handle);
}

CUresult VmmTable::Realise(CUmemGenericAllocationHandle handle, const char* why) {
  VmmHandle& h = *Find(handle);
  if (h.real != 0) return CUDA_SUCCESS;
  if (h.runtime == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = h.runtime->memory();
  const Driver& driver = *h.runtime->driver();
  CUmemGenericAllocationHandle real = 0;
  const CUresult created =
      WithRescue(h.size, [&] { return driver->MemCreate(&real, h.size, &h.properties, 0); });
  if (created != CUDA_SUCCESS) {
    return Told(DriverError(created, "cuMemCreate", absl::StrFormat("%d, %s", h.size, why)));
  }
  const auto give_up = [&](const Status& status) {
    driver.Note(Check(driver->MemRelease(real), "cuMemRelease"));
    return Told(status);
  };
  const CUdeviceptr at = h.mapped;
  if (at != 0) {
    if (const Status drained = memory.Drain(); !drained.ok()) return give_up(drained);
    StatusOr<Memory::Loose> loose = h.runtime->UnmapLoose(DevicePtr(at), Bytes(h.size));
    if (!loose.ok()) return give_up(loose.status());
    h.loose = *std::move(loose);
  }
  Status status = h.used ? CopyInto(h.runtime, *h.loose, real, h.size) : absl::OkStatus();
  if (status.ok() && at != 0) {
    status = MapAt(driver, Accessors(memory.options().ordinal), DevicePtr(at), Bytes(h.size), real);
  }
  if (!status.ok()) {
    if (at != 0) {
      // It was mapped before; where even that fails now it is nowhere, and unmapping says so.
      driver.Note(memory.MapLoose(*h.loose, DevicePtr(at)));
      h.loose.reset();
    }
    return give_up(status);
  }
  memory.ReleaseLoose(*std::exchange(h.loose, std::nullopt));
  Count(Foreign::kHandle, h.size);
  Log(LogLevel::kInfo, absl::StrFormat("%d MiB that the program made with cuMemCreate stay on the "
                                       "device: %s",
                                       h.size >> 20, why));
  h.real = real;
  h.mapped = 0;
  CUdeviceptr base = 0;
  if (at != 0) {
    MappingOf(at, &base)->handle = 0;
    RemoveAllocated(at);
  }
  return CUDA_SUCCESS;
}

void ForgetVmmOf(Runtime* runtime) {
  VmmTable& table = VmmTable::Get();
  MutexLock lock(table.mu);
  for (auto& [value, handle] : table.handles) {
    if (handle.runtime != runtime) continue;
    handle.runtime = nullptr;
    handle.loose.reset();
    handle.mapped = 0;
  }
  for (auto& [base, reservation] : table.reservations) {
    if (reservation.runtime != runtime) continue;
    reservation.runtime = nullptr;
    // The addresses can only be given back with nothing mapped there.
    const Driver& driver = *runtime->driver();
    for (const auto& [p, mapping] : reservation.mappings) {
      if (mapping.handle != 0) continue;
      driver.Note(Check(driver->MemUnmap(p, mapping.size), "cuMemUnmap",
                        RangeText(DevicePtr(p), Bytes(mapping.size))));
    }
  }
}

}  // namespace vramspan::preload
