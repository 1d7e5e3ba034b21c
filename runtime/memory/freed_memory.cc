#include "runtime/memory/freed_memory.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>

#include <utility>
#include <vector>

#include "runtime/memory/address_text.h"

namespace vramspan {
namespace {

// One drain for this share of the budget.
constexpr uint64_t kQuarantineShare = 16;

}  // namespace

Status FreedMemory::Free(DevicePtr base, bool idle) {
  if (base.value == 0) return absl::OkStatus();
  Chunk copy;
  ChunkRange range;
  bool drain = false;
  {
    MutexLock lock(state_.mu);
    if (state_.map().reservations().Begins(base)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot free ", AddressText(base), ": it was reserved; free it with cuMemAddressFree"));
    }
    const ChunkIndex first = state_.page_map().Find(base);
    if (!first) {
      // Not ours, or freed: the allocation table knows the difference.
      return state_.map().RemoveAllocation(base, 0).status();
    }
    copy = state_.chunks()[first];
    if (copy.allocation != 0) {
      VS_ASSIGN_OR_RETURN(range, Remove(base, copy.allocation, idle, &drain));
    }
  }
  if (copy.allocation == 0) {
    VS_ASSIGN_OR_RETURN(drain, small_.Free(base, copy, idle));
  }
  if (!range.chunks.empty()) return dismantler_.TakeApart(std::move(range));
  return drain ? DrainAndReclaim() : absl::OkStatus();
}

StatusOr<ChunkRange> FreedMemory::Remove(DevicePtr base, uint32_t allocation, bool idle,
                                         bool* drain) {
  ChunkMap& map = state_.map();
  VS_ASSIGN_OR_RETURN(const Allocation a, map.RemoveAllocation(base, allocation));
  map.AllocationsChanged();
  map.CountFree(a.requested, a.reserved);
  ChunkRange range{a.base, a.reserved, {}};
  bool known = true;
  for (DevicePtr at = a.base; at < a.base + a.reserved;) {
    const ChunkIndex index = map.page_map().Find(at);
    Chunk& c = map.chunks()[index];
    c.dying = true;
    map.chunks().NoteChange(index);
    known = known && (idle || state_.UsersKnown(c));
    range.chunks.push_back(index);
    at = at + c.size();
  }
  if (known) return range;
  FreedRanges& freed = state_.freed_ranges();
  freed.Quarantine(std::move(range));
  *drain = freed.quarantined().value > state_.device_pool().budget().value / kQuarantineShare;
  return ChunkRange();
}

bool FreedMemory::Reclaim() {
  std::vector<ChunkRange> ready;
  bool any = false;
  {
    MutexLock lock(state_.mu);
    FreedRanges& freed = state_.freed_ranges();
    const ChunkTable& chunks = state_.chunks();
    ready = freed.TakeIdle([&](ChunkIndex c) { return state_.Busy(chunks[c]); });
    const std::vector<ChunkIndex> gone =
        freed.TakeUnused([&](ChunkIndex c) { return !IsUnused(chunks[c]); });
    state_.map().Forget(gone);
    any = !gone.empty();
  }
  const absl::Cleanup apart = [&] {
    MutexLock lock(state_.mu);
    state_.freed_ranges().TakenApart(ready.size());
  };
  for (ChunkRange& range : ready) {
    const Status status = dismantler_.TakeApart(std::move(range));
    state_.driver().RecordBackgroundError(status);
    any |= status.ok();
  }
  return any;
}

bool FreedMemory::any() {
  const bool small = small_.any_quarantined();
  MutexLock lock(state_.mu);
  return small || state_.freed_ranges().any_quarantined() || state_.freed_ranges().any_stuck();
}

Status FreedMemory::DrainAndReclaim() {
  const std::vector<uint64_t> small = small_.Quarantined();
  std::vector<ChunkRange> ranges;
  {
    MutexLock lock(state_.mu);
    ranges = state_.freed_ranges().TakeQuarantine();
  }
  Status status = ranges.empty() && small.empty() ? absl::OkStatus() : drains_.Drain();
  if (!status.ok()) {
    MutexLock lock(state_.mu);
    for (ChunkRange& range : ranges) state_.freed_ranges().Quarantine(std::move(range));
    return status;
  }
  status = small_.Release(small);
  {
    MutexLock lock(state_.mu);
    for (ChunkRange& range : state_.freed_ranges().TakeStuck()) ranges.push_back(std::move(range));
  }
  for (ChunkRange& range : ranges) {
    const Status apart = dismantler_.TakeApart(std::move(range));
    if (status.ok()) status = apart;
  }
  Reclaim();
  return status;
}

}  // namespace vramspan
