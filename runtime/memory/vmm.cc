#include "runtime/memory/vmm.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>

#include "runtime/memory/remap.h"
#include "runtime/placement/move_limits.h"
#include "runtime/space/no_addresses.h"

namespace vramspan {
namespace {

// A pool of a program grows by such pieces, so they are cut into as few chunks as move well: 20 MiB
// into 16 and 4.
constexpr Bytes kLarge = MiB(128);
constexpr int kChosenLog2 = 24;

}  // namespace

StatusOr<DevicePtr> Vmm::Reserve(Bytes size, Bytes alignment) {
  MutexLock lock(state_.mu);
  ChunkMap& map = state_.map();
  VS_ASSIGN_OR_RETURN(const DevicePtr base,
                      map.arena().Take(size, std::max(alignment, kGranularity)));
  Allocation a;
  a.base = base;
  a.requested = a.reserved = size;
  map.reservations().Add(base, size, map.AddAllocation(a));
  return base;
}

Status Vmm::Unreserve(DevicePtr base, Bytes size) {
  MutexLock lock(state_.mu);
  ChunkMap& map = state_.map();
  const uint32_t id = map.reservations().EmptyAt(base, size);
  if (id == 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "cannot give back %d bytes at 0x%x: they are not a reservation of that size, or something "
        "is mapped there",
        size.value, base.value));
  }
  VS_RETURN_IF_ERROR(map.RemoveAllocation(base, id).status());
  map.reservations().Remove(base);
  map.arena().Give(base, size);
  return absl::OkStatus();
}

StatusOr<DetachedMemory> Vmm::MakeDetached(Bytes size) {
  const int forced = state_.options().chunk_log2;
  const int chosen = forced != 0 ? forced
                                 : std::min(size < kLarge ? kChosenLog2 : kMaxChunkLog2,
                                            LargestChunk(state_.ExpectedBudget()));
  if (size > state_.page_map().size()) {
    return NoAddresses(
        absl::StrCat("cannot make ", size.value, " bytes of memory: there are fewer addresses"));
  }
  const std::vector<int> sizes = ChunkSizesFor(size, chosen);
  StatusOr<DetachedMemory> detached = MakeOnce(sizes);
  if (!detached.ok() && absl::IsResourceExhausted(detached.status())) {
    // Freed memory may wait for a drain.
    VS_RETURN_IF_ERROR(freed_.DrainAndReclaim());
    detached = MakeOnce(sizes);
  }
  if (!detached.ok()) return detached;
  MutexLock lock(state_.mu);
  state_.map().CountAllocation(size, size);
  return detached;
}

StatusOr<DetachedMemory> Vmm::MakeOnce(const std::vector<int>& log2_sizes) {
  DetachedMemory detached;
  for (const int log2 : log2_sizes) {
    const StatusOr<Backing> b = supply_.Back(log2);
    if (!b.ok()) {
      for (const Backing& had : detached.backing()) supply_.Unback(had);
      return b.status();
    }
    detached.Add(*b);
  }
  return detached;
}

void Vmm::ReleaseDetached(const DetachedMemory& detached) {
  for (const Backing& b : detached.backing()) supply_.Unback(b);
  MutexLock lock(state_.mu);
  state_.map().CountFree(detached.size(), detached.size());
}

Status Vmm::MapSlots(const DetachedMemory& detached, DevicePtr at) {
  const Driver& driver = state_.driver();
  ScopedContext current(driver, state_.options().context);
  VS_RETURN_IF_ERROR(current.status());
  Bytes mapped;
  Status status;
  for (const Backing& b : detached.backing()) {
    const Bytes size = ChunkBytes(b.log2_size);
    const DevicePtr va = at + mapped;
    status = Check(driver->MemMap(va.value, size.value, 0, supply_.Handle(b), 0), "cuMemMap",
                   RangeText(va, size));
    if (!status.ok()) break;
    mapped += size;
  }
  if (status.ok()) status = GiveAccess(driver, peers_.accessors(), at, mapped);
  if (!status.ok() && mapped.value != 0) {
    driver.RecordBackgroundError(
        Check(driver->MemUnmap(at.value, mapped.value), "cuMemUnmap", RangeText(at, mapped)));
  }
  return status;
}

Status Vmm::MapAgain(DevicePtr first, DevicePtr at) {
  StatusOr<DetachedMemory> detached;
  {
    MutexLock lock(state_.mu);
    detached = state_.mappings().DetachedAt(first);
  }
  VS_RETURN_IF_ERROR(detached.status());
  return MapAs(*detached, at, /*pinned=*/true);
}

Status Vmm::MapAs(const DetachedMemory& detached, DevicePtr at, bool pinned) {
  std::vector<ChunkIndex> added;
  {
    MutexLock lock(state_.mu);
    VS_ASSIGN_OR_RETURN(added, state_.mappings().Prepare(detached, at));
  }
  SharedLock mapping(peers_.mapping_mu);
  const Status status = MapSlots(detached, at);
  MutexLock lock(state_.mu);
  if (!status.ok()) {
    state_.mappings().GiveUp(added);
    return status;
  }
  state_.mappings().Show(added, detached, at, pinned, state_.tracking() != Tracking::kNone);
  if (absl::c_any_of(detached.backing(), [](const Backing& b) { return !b.on_device; })) {
    supply_.NoteHostUse();
  }
  return absl::OkStatus();
}

void Vmm::PutBack(const Mappings::Taken& taken, bool unmapped, const Accessors& to_whom) {
  std::vector<bool> missing = taken.unmapped;
  DevicePtr va = taken.at;
  for (size_t i = 0; i < taken.chunks.size(); ++i) {
    const Backing& b = taken.detached.backing()[i];
    const Bytes size = ChunkBytes(b.log2_size);
    // What was unmapped is mapped: work that came upon it meanwhile waits for that no more.
    if (missing[i] || unmapped) {
      const Status status = MapAt(state_.driver(), to_whom, va, size, supply_.Handle(b));
      state_.driver().RecordBackgroundError(status);
      missing[i] = !status.ok();
    }
    va = va + size;
  }
  MutexLock lock(state_.mu);
  state_.mappings().PutBack(taken, missing);
}

StatusOr<DevicePtr> Vmm::Alias(const Backing& backing) {
  if (backing.on_device) return state_.device_pool().Alias(backing.slot);
  return state_.host_pool().alias(backing.slot);
}

Status Vmm::CopyDetached(const DetachedMemory& detached, DevicePtr to) {
  const Driver& driver = state_.driver();
  ScopedContext current(driver, state_.options().context);
  VS_RETURN_IF_ERROR(current.status());
  CUstream stream = nullptr;
  VS_RETURN_IF_ERROR(
      Check(driver->StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate", "to copy by"));
  Status status;
  for (const Backing& b : detached.backing()) {
    const Bytes size = ChunkBytes(b.log2_size);
    const StatusOr<DevicePtr> from = Alias(b);
    status = from.ok() ? Check(driver->MemcpyDtoDAsync(to.value, from->value, size.value, stream),
                               "cuMemcpyDtoDAsync", RangeText(to, size))
                       : from.status();
    if (!status.ok()) break;
    to = to + size;
  }
  const Status done = Check(driver->StreamSynchronize(stream), "cuStreamSynchronize");
  if (status.ok()) status = done;
  driver.RecordBackgroundError(Check(driver->StreamDestroy(stream), "cuStreamDestroy"));
  return status;
}

}  // namespace vramspan
