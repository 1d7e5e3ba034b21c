#include "runtime/memory/placing.h"

#include <absl/algorithm/container.h>

#include <utility>

#include "runtime/memory/remap.h"

namespace vramspan {

StatusOr<DevicePtr> Placing::Place(const std::vector<int>& log2_sizes,
                                   const Allocation* allocation) {
  Bytes total;
  for (const int log2 : log2_sizes) total += ChunkBytes(log2);
  std::optional<Mapped> mapped;
  Status status;
  {
    // Until it has chunks again, who changes access would find it nowhere.
    SharedLock mapping(peers_.mapping_mu);
    mapped = TakeKept(total, log2_sizes.front());
    if (mapped) status = Register(*mapped, allocation);
  }
  if (mapped && status.ok()) return mapped->base;
  // One for all that follows: what was mapped in it can be unmapped again.
  ScopedContext current(state_.driver(), state_.options().context);
  VS_RETURN_IF_ERROR(current.status());
  if (!mapped) {
    VS_ASSIGN_OR_RETURN(mapped, MapNew(total, log2_sizes));
    status = Publish(*mapped, allocation);
  }
  if (!status.ok()) {
    Unmap(*mapped);
    return status;
  }
  return mapped->base;
}

std::optional<Placing::Mapped> Placing::TakeKept(Bytes size, int first_log2) {
  MutexLock lock(state_.mu);
  FreeRangeCache& cache = state_.freed_ranges().kept();
  std::optional<FreeRange> kept = cache.Take(size, first_log2);
  if (!kept) return std::nullopt;
  if (!state_.device_pool().Unpark(kept->slots)) {
    cache.Add(*std::move(kept));
    return std::nullopt;
  }
  Mapped mapped{kept->base, size, size, {}};
  for (size_t i = 0; i < kept->slots.size(); ++i) {
    mapped.backing.push_back({kept->slots[i], true, kept->log2_sizes[i]});
  }
  return mapped;
}

StatusOr<Placing::Mapped> Placing::MapNew(Bytes total, const std::vector<int>& log2_sizes) {
  Mapped mapped;
  mapped.size = total;
  {
    MutexLock lock(state_.mu);
    VS_ASSIGN_OR_RETURN(mapped.base, state_.map().arena().Take(total, kGranularity));
  }
  mapped.backing.reserve(log2_sizes.size());
  Status status;
  for (const int log2 : log2_sizes) {
    StatusOr<Backing> b = supply_.Back(log2);
    if (!b.ok()) {
      status = b.status();
      break;
    }
    const DevicePtr at = mapped.base + mapped.mapped;
    const CUresult r =
        state_.driver()->MemMap(at.value, ChunkBytes(log2).value, 0, supply_.Handle(*b), 0);
    if (r != CUDA_SUCCESS) {
      supply_.Unback(*b);
      status = DriverError(r, "cuMemMap", RangeText(at, ChunkBytes(log2)));
      break;
    }
    mapped.backing.push_back(*b);
    mapped.mapped += ChunkBytes(log2);
  }
  if (status.ok()) return mapped;
  Unmap(mapped);
  return status;
}

void Placing::Unmap(const Mapped& mapped) {
  Status status;
  if (mapped.mapped != Bytes(0)) {
    status = Check(state_.driver()->MemUnmap(mapped.base.value, mapped.mapped.value), "cuMemUnmap",
                   RangeText(mapped.base, mapped.mapped));
  }
  for (const Backing& b : mapped.backing) supply_.Unback(b);
  state_.driver().RecordBackgroundError(status);
  // A range that could not be unmapped must not be handed out again: it stays taken.
  if (!status.ok()) return;
  MutexLock lock(state_.mu);
  state_.map().arena().Give(mapped.base, mapped.size);
}

Status Placing::Publish(const Mapped& mapped, const Allocation* allocation) {
  SharedLock mapping(peers_.mapping_mu);
  VS_RETURN_IF_ERROR(GiveAccess(state_.driver(), peers_.accessors(), mapped.base, mapped.size));
  return Register(mapped, allocation);
}

Status Placing::Register(const Mapped& mapped, const Allocation* allocation) {
  MutexLock lock(state_.mu);
  ChunkMap& map = state_.map();
  VS_ASSIGN_OR_RETURN(const std::vector<ChunkIndex> added, map.Add(mapped.backing.size()));
  uint32_t id = 0;
  if (allocation != nullptr) {
    Allocation a = *allocation;
    a.base = mapped.base;
    a.reserved = mapped.size;
    id = map.AddAllocation(a);
    map.AllocationsChanged();
  }
  map.Fill(added, mapped.base, mapped.backing, id, state_.tracking() != Tracking::kNone);
  // Again, now that it can be found: Supply::AllOnDevice may have looked since it was backed.
  if (absl::c_any_of(mapped.backing, [](const Backing& b) { return !b.on_device; })) {
    supply_.NoteHostUse();
  }
  return absl::OkStatus();
}

}  // namespace vramspan
