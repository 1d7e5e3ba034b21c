// Memory: how it comes back.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "runtime/memory/memory.h"

namespace vramspan {
namespace {

// One drain for this many small frees, or for this share of the budget.
constexpr size_t kSmallQuarantine = 4096;
constexpr uint64_t kQuarantineShare = 16;

std::string AddressText(DevicePtr p) { return absl::StrFormat("0x%x", p.value); }

}  // namespace

bool Memory::Busy(const Chunk& c) const {
  return c.in_flight != 0 || c.queued != 0 || c.mapped_only != 0 ||
         c.state == ChunkState::kMoving || unknown_work.load(std::memory_order_relaxed) != 0;
}

Status Memory::Free(DevicePtr base) {
  if (base.value == 0) return absl::OkStatus();
  Chunk copy;
  Range range;
  bool drain = false;
  {
    MutexLock lock(mu);
    if (reservations_.contains(base.value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot free ", AddressText(base), ": it was reserved, and goes with cuMemAddressFree"));
    }
    const ChunkIndex first = page_map_->Find(base);
    if (!first) {
      // Not ours, or freed: the allocation table knows the difference.
      return allocations_.Remove(base, 0).status();
    }
    copy = (*chunks_)[first];
    if (copy.allocation != 0) {
      VS_ASSIGN_OR_RETURN(const Allocation a, allocations_.Remove(base, copy.allocation));
      AllocationsChanged();
      --counts_.allocations;
      counts_.allocated -= a.requested;
      counts_.charged -= a.reserved;
      range.base = a.base;
      range.size = a.reserved;
      bool known = true;
      for (DevicePtr at = a.base; at < a.base + a.reserved;) {
        const ChunkIndex index = page_map_->Find(at);
        Chunk& c = (*chunks_)[index];
        c.dying = true;
        chunks_->NoteChange(index);
        known = known && UsersKnown(c);
        range.chunks.push_back(index);
        at = at + c.size();
      }
      if (!known) {
        quarantined_ += range.size;
        drain = quarantined_.value > device_pool_->budget().value / kQuarantineShare;
        quarantine_.push_back(std::move(range));
        range.size = Bytes(0);
      }
    }
  }
  if (copy.allocation == 0) return FreeSmall(base, copy);
  if (range.size.value != 0) return TakeApart(std::move(range));
  return drain ? DrainAndReclaim() : absl::OkStatus();
}

Status Memory::FreeSmall(DevicePtr p, const Chunk& copy) {
  bool drain = false;
  {
    MutexLock small_lock(small_mu_);
    const StatusOr<SmallObjects::Object> found = small_->Find(p);
    if (!found.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot free ", AddressText(p), ": it is not allocated, or was freed already"));
    }
    const SmallObjects::Object object = *found;
    if (object.base != p) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot free ", AddressText(p), ": it lies inside the allocation at ",
                       AddressText(object.base), "; free that address"));
    }
    if (small_quarantine_.contains(p.value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot free ", AddressText(p), ": it was freed already"));
    }
    if (UsersKnown(copy) && !Busy(copy)) {
      VS_RETURN_IF_ERROR(small_->Free(p));
    } else {
      small_quarantine_.insert(p.value);
      drain = small_quarantine_.size() >= kSmallQuarantine;
    }
    MutexLock lock(mu);
    --counts_.allocations;
    counts_.allocated -= object.size;
  }
  return drain ? DrainAndReclaim() : absl::OkStatus();
}

Status Memory::TakeApart(Range range) {
  StatusOr<std::vector<Backing>> backing = Dismantle(std::move(range));
  VS_RETURN_IF_ERROR(backing.status());
  for (const Backing& b : *backing) Unback(b);
  return absl::OkStatus();
}

StatusOr<std::vector<Memory::Backing>> Memory::Dismantle(Range range) {
  SharedLock mapping(mapping_mu);
  std::vector<Backing> backing;
  {
    MutexLock lock(mu);
    for (const ChunkIndex index : range.chunks) {
      if (Busy((*chunks_)[index])) {
        dying_.push_back(std::move(range));
        dying_count_.fetch_add(1, std::memory_order_relaxed);
        return backing;
      }
    }
    page_map_->Set(range.base, range.size, ChunkIndex());
    bool on_device = true;
    range.gone.resize(range.chunks.size());
    for (size_t i = 0; i < range.chunks.size(); ++i) {
      const ChunkIndex index = range.chunks[i];
      Chunk& c = (*chunks_)[index];
      if (c.on_device) policy_->OnRemove(index);
      range.gone[i] = range.gone[i] || c.unmapped;
      chunks_->SetUnmapped(index, false);  // Nobody is to show it any more.
      // Gone at once: until the chunk leaves the table, others may look for copies to drop.
      DropHostCopy(index);
      // What other processes may have is not for another allocation.
      on_device = on_device && c.on_device && !device_pool_->shareable(c.device_slot);
      backing.push_back(c.on_device ? Backing{c.device_slot, true} : Backing{c.host_slot, false});
    }
    // What is kept would be passed by while access is being changed.
    if (on_device && !changing_access_ && device_pool_->used() <= device_pool_->budget()) {
      Keep(range);
      return std::vector<Backing>();
    }
  }
  ScopedContext current(*driver_, options_.context);
  Status status = current.status();
  if (status.ok()) status = UnmapRange(&range);
  {
    MutexLock lock(mu);
    if (!status.ok()) {
      // Still mapped, some of it: keep it together and try again later.
      DevicePtr at = range.base;
      for (const ChunkIndex index : range.chunks) {
        Chunk& c = (*chunks_)[index];
        if (c.on_device) policy_->OnInsert(index);
        page_map_->Set(at, c.size(), index);
        at = at + c.size();
      }
      stuck_.push_back(std::move(range));
      return status;
    }
    Forget(range.chunks);
    arena_->Give(range.base, range.size);
  }
  return backing;
}

Status Memory::UnmapRange(Range* range) {
  std::vector<Bytes> sizes;
  {
    MutexLock lock(mu);
    for (const ChunkIndex index : range->chunks) sizes.push_back((*chunks_)[index].size());
  }
  DevicePtr at = range->base;
  for (size_t i = 0; i < sizes.size();) {
    if (range->gone[i]) {
      at = at + sizes[i++];
      continue;
    }
    // One call for all up to the next hole.
    size_t end = i;
    Bytes size;
    while (end < sizes.size() && !range->gone[end]) size += sizes[end++];
    VS_RETURN_IF_ERROR(
        Check((*driver_)->MemUnmap(at.value, size.value), "cuMemUnmap", RangeText(at, size)));
    for (at = at + size; i < end; ++i) range->gone[i] = true;
  }
  return absl::OkStatus();
}

void Memory::Forget(const std::vector<ChunkIndex>& chunks) {
  for (const ChunkIndex index : chunks) {
    policy_->Advise(index, /*leaves_first=*/false, /*on_device=*/false);
    pins.erase(index.value);
    chunks_->Remove(index);
  }
  counts_.chunks -= chunks.size();
}

void Memory::Keep(const Range& range) {
  FreeRange kept{range.base, range.size, {}, {}};
  for (const ChunkIndex index : range.chunks) {
    kept.slots.push_back((*chunks_)[index].device_slot);
    kept.log2_sizes.push_back((*chunks_)[index].log2_size);
  }
  device_pool_->Park(kept.slots);
  Forget(range.chunks);
  kept_.Add(std::move(kept));
}

StatusOr<bool> Memory::GiveUpKept(int log2) {
  // One at a time: who finds nothing here may rely on it that nobody else is about to release some.
  MutexLock one(give_up_mu_);
  SharedLock mapping(mapping_mu);
  std::optional<FreeRange> range;
  {
    MutexLock lock(mu);
    range = kept_.TakeOldest(log2);
  }
  if (!range) return false;
  ScopedContext current(*driver_, options_.context);
  Status status = current.status();
  if (status.ok()) {
    status = Check((*driver_)->MemUnmap(range->base.value, range->size.value), "cuMemUnmap",
                   RangeText(range->base, range->size));
  }
  if (status.ok()) {
    for (const uint32_t slot : range->slots) device_pool_->Release(slot);
  }
  MutexLock lock(mu);
  if (!status.ok()) {
    kept_.Add(*std::move(range));
    return status;
  }
  arena_->Give(range->base, range->size);
  return true;
}

bool Memory::Reclaim() {
  std::vector<Range> ready;
  std::vector<ChunkIndex> gone;
  {
    MutexLock lock(mu);
    const auto idle = [&](const Range& range) {
      return std::none_of(range.chunks.begin(), range.chunks.end(),
                          [&](ChunkIndex c)
                              VS_NO_THREAD_SAFETY_ANALYSIS { return Busy((*chunks_)[c]); });
    };
    for (size_t i = 0; i < dying_.size();) {
      if (!idle(dying_[i])) {
        ++i;
        continue;
      }
      ready.push_back(std::move(dying_[i]));
      dying_[i] = std::move(dying_.back());
      dying_.pop_back();
      dying_count_.fetch_sub(1, std::memory_order_relaxed);
    }
    const auto still = std::partition(
        left_.begin(), left_.end(),
        [&](ChunkIndex c) VS_NO_THREAD_SAFETY_ANALYSIS { return !IsUnused((*chunks_)[c]); });
    gone.assign(still, left_.end());
    left_.erase(still, left_.end());
    Forget(gone);
    dying_count_.fetch_sub(static_cast<uint32_t>(gone.size()), std::memory_order_relaxed);
  }
  bool any = !gone.empty();
  for (Range& range : ready) {
    const Status status = TakeApart(std::move(range));
    driver_->RecordBackgroundError(status);
    any |= status.ok();
  }
  return any;
}

Status DrainContext(const Driver& driver, CUcontext context, CUdeviceptr* left) {
  ScopedContext current(driver, context);
  VS_RETURN_IF_ERROR(current.status());
  // The one call that waits for all of a context's work, streams unknown to us included, and that a
  // capture elsewhere survives (in relaxed mode; measured). cuCtxSynchronize would ruin it.
  CUdeviceptr p = 0;
  VS_RETURN_IF_ERROR(Check(driver->MemAlloc(&p, 256), "cuMemAlloc", "256, to drain"));
  const Status status = Check(driver->MemFree(p), "cuMemFree", "to drain");
  if (!status.ok()) *left = p;
  return status;
}

Status Memory::Drain() {
  CUdeviceptr left = 0;
  const Status status = DrainContext(*driver_, options_.context, &left);
  if (left != 0) {
    MutexLock lock(mu);
    drains_left_.push_back(left);
  }
  return status;
}

Status Memory::DrainAndReclaim() {
  std::vector<Range> ranges;
  std::vector<uint64_t> small;
  {
    MutexLock small_lock(small_mu_);
    small.assign(small_quarantine_.begin(), small_quarantine_.end());
  }
  {
    MutexLock lock(mu);
    ranges.swap(quarantine_);
    quarantined_ = Bytes(0);
  }
  Status status = ranges.empty() && small.empty() ? absl::OkStatus() : Drain();
  if (!status.ok()) {
    MutexLock lock(mu);
    for (Range& range : ranges) {
      quarantined_ += range.size;
      quarantine_.push_back(std::move(range));
    }
    return status;
  }
  {
    MutexLock small_lock(small_mu_);
    for (const uint64_t p : small) {
      // Two drains at once may both have seen it; only one frees.
      if (small_quarantine_.erase(p) == 0) continue;
      const Status freed = small_->Free(DevicePtr(p));
      if (status.ok()) status = freed;
    }
  }
  {
    MutexLock lock(mu);
    for (Range& range : std::exchange(stuck_, {})) ranges.push_back(std::move(range));
  }
  for (Range& range : ranges) {
    const Status apart = TakeApart(std::move(range));
    if (status.ok()) status = apart;
  }
  Reclaim();
  return status;
}

}  // namespace vramspan
