// Memory: addresses without backing and backing without addresses.
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/memory/memory.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// A pool of a program grows by such pieces, so they are cut into as few chunks as move well: 20 MiB
// into 16 and 4.
constexpr Bytes kLarge = MiB(128);
constexpr int kChosenLog2 = 24;

Status NotMapped(DevicePtr p) {
  return absl::InvalidArgumentError(
      absl::StrFormat("no memory of this runtime was mapped at 0x%x", p.value));
}

}  // namespace

StatusOr<DevicePtr> Memory::Reserve(Bytes size, Bytes alignment) {
  MutexLock lock(mu);
  VS_ASSIGN_OR_RETURN(const DevicePtr base, arena_->Take(size, std::max(alignment, kGranularity)));
  Allocation a;
  a.base = base;
  a.requested = a.reserved = size;
  reservations_.emplace(base.value, Reservation{size, allocations_.Add(a)});
  return base;
}

Status Memory::Unreserve(DevicePtr base, Bytes size) {
  MutexLock lock(mu);
  const auto it = reservations_.find(base.value);
  if (it == reservations_.end() || it->second.size != size || !it->second.mapped.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "cannot give back %d bytes at 0x%x: they are not a reservation of that size, or something "
        "is mapped there",
        size.value, base.value));
  }
  VS_RETURN_IF_ERROR(allocations_.Remove(base, it->second.id).status());
  reservations_.erase(it);
  arena_->Give(base, size);
  return absl::OkStatus();
}

Memory::Reservations::iterator Memory::ReservationOf(DevicePtr p) {
  const auto after = reservations_.upper_bound(p.value);
  if (after == reservations_.begin()) return reservations_.end();
  const auto it = std::prev(after);
  return p.value - it->first < it->second.size.value ? it : reservations_.end();
}

ChunkIndex Memory::NextInReservation(DevicePtr p) {
  const auto r = ReservationOf(p);
  if (r == reservations_.end()) return ChunkIndex();
  const auto next = r->second.mapped.lower_bound(p.value);
  return next == r->second.mapped.end() ? ChunkIndex() : page_map_->Find(DevicePtr(next->first));
}

std::optional<Allocation> Memory::ExtentOf(DevicePtr p) {
  const auto r = ReservationOf(p);
  if (r == reservations_.end() || r->second.mapped.empty()) return std::nullopt;
  const auto& [last, size] = *r->second.mapped.rbegin();
  Allocation a;
  a.base = DevicePtr(r->first);
  a.requested = a.reserved = Bytes(last - r->first) + size;
  a.id = r->second.id;
  if (p >= a.base + a.requested) return std::nullopt;
  return a;
}

StatusOr<Memory::Detached> Memory::MakeDetached(Bytes size) {
  const int chosen = options_.chunk_log2 != 0
                         ? options_.chunk_log2
                         : std::min(size < kLarge ? kChosenLog2 : kMaxChunkLog2,
                                    LargestChunk(device_pool_->budget()));
  if (size > page_map_->size()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot make ", size.value, " bytes of memory: more than there are addresses"));
  }
  const std::vector<int> sizes = ChunkSizesFor(size, chosen);
  StatusOr<Detached> detached = MakeDetachedOnce(size, sizes);
  if (!detached.ok() && absl::IsResourceExhausted(detached.status())) {
    // Freed memory may wait for a drain.
    VS_RETURN_IF_ERROR(DrainAndReclaim());
    detached = MakeDetachedOnce(size, sizes);
  }
  if (!detached.ok()) return detached;
  MutexLock lock(mu);
  ++counts_.allocations;
  counts_.allocated += size;
  counts_.charged += size;
  counts_.peak_allocated = std::max(counts_.peak_allocated, counts_.allocated);
  return detached;
}

StatusOr<Memory::Detached> Memory::MakeDetachedOnce(Bytes size,
                                                    const std::vector<int>& log2_sizes) {
  Detached detached;
  detached.size_ = size;
  detached.log2_sizes_ = log2_sizes;
  for (const int log2 : log2_sizes) {
    const StatusOr<Backing> b = Back(log2);
    if (!b.ok()) {
      for (const Backing& had : detached.backing_) Unback(had);
      return b.status();
    }
    detached.backing_.push_back(*b);
  }
  return detached;
}

void Memory::ReleaseDetached(Detached detached) {
  for (const Backing& b : detached.backing_) Unback(b);
  MutexLock lock(mu);
  --counts_.allocations;
  counts_.allocated -= detached.size_;
  counts_.charged -= detached.size_;
}

Status Memory::MapSlots(const Detached& detached, DevicePtr at) {
  ScopedContext current(*driver_, options_.context);
  VS_RETURN_IF_ERROR(current.status());
  Bytes mapped;
  Status status;
  for (size_t i = 0; i < detached.backing_.size() && status.ok(); ++i) {
    const Backing& b = detached.backing_[i];
    const Bytes size = ChunkBytes(detached.log2_sizes_[i]);
    const DevicePtr va = at + mapped;
    status = Check((*driver_)->MemMap(
                       va.value, size.value, 0,
                       b.on_device ? device_pool_->handle(b.slot) : host_pool_->handle(b.slot), 0),
                   "cuMemMap", RangeText(va, size));
    if (status.ok()) mapped += size;
  }
  if (status.ok()) status = GiveAccess(*driver_, accessors_, at, mapped);
  if (!status.ok() && mapped.value != 0) {
    driver_->RecordBackgroundError(
        Check((*driver_)->MemUnmap(at.value, mapped.value), "cuMemUnmap", RangeText(at, mapped)));
  }
  return status;
}

StatusOr<Memory::Detached> Memory::DetachedAt(DevicePtr at) {
  const auto r = ReservationOf(at);
  if (r == reservations_.end()) return NotMapped(at);
  const auto it = r->second.mapped.find(at.value);
  if (it == r->second.mapped.end()) return NotMapped(at);
  Detached detached;
  detached.size_ = it->second;
  for (DevicePtr p = at; p < at + detached.size_;) {
    const Chunk& c = (*chunks_)[page_map_->Find(p)];
    detached.log2_sizes_.push_back(c.log2_size);
    detached.backing_.push_back(c.on_device ? Backing{c.device_slot, true}
                                            : Backing{c.host_slot, false});
    p = p + c.size();
  }
  return detached;
}

Status Memory::MapDetached(const Detached& detached, DevicePtr at) {
  return MapDetachedAs(detached, at, /*pinned=*/false);
}

Status Memory::MapAgain(DevicePtr first, DevicePtr at) {
  StatusOr<Detached> detached;
  {
    MutexLock lock(mu);
    detached = DetachedAt(first);
  }
  VS_RETURN_IF_ERROR(detached.status());
  return MapDetachedAs(*detached, at, /*pinned=*/true);
}

Status Memory::MapDetachedAs(const Detached& detached, DevicePtr at, bool pinned) {
  const Bytes size = detached.size_;
  uint32_t id = 0;
  std::vector<ChunkIndex> added;
  {
    MutexLock lock(mu);
    const auto r = ReservationOf(at);
    bool taken = r == reservations_.end() || r->second.size - (at - DevicePtr(r->first)) < size;
    for (DevicePtr p = at; !taken && p < at + size; p = p + kGranularity) {
      taken = static_cast<bool>(page_map_->Find(p));
    }
    if (taken) {
      return absl::InvalidArgumentError(
          absl::StrFormat("cannot map %d bytes at 0x%x: not reserved, or something is mapped there",
                          size.value, at.value));
    }
    id = r->second.id;
    VS_ASSIGN_OR_RETURN(added, AddChunks(detached.backing_.size()));
  }
  SharedLock mapping(mapping_mu);
  const Status status = MapSlots(detached, at);
  MutexLock lock(mu);
  if (!status.ok()) {
    for (const ChunkIndex index : added) chunks_->Remove(index);
    return status;
  }
  FillChunks(added, at, detached.backing_, detached.log2_sizes_, id);
  for (size_t i = 0; pinned && i < added.size(); ++i) {
    pins[added[i].value] = 1;
    (*chunks_)[added[i]].Transition(ChunkState::kPinned);
  }
  ReservationOf(at)->second.mapped.emplace(at.value, size);
  AllocationsChanged();
  if (options_.listener != nullptr) options_.listener->Mapped(at, size);
  return absl::OkStatus();
}

StatusOr<std::vector<ChunkIndex>> Memory::Claim(DevicePtr at) {
  const auto r = ReservationOf(at);
  if (r == reservations_.end()) return NotMapped(at);
  const auto it = r->second.mapped.find(at.value);
  if (it == r->second.mapped.end()) return NotMapped(at);
  std::vector<ChunkIndex> chunks;
  for (DevicePtr p = at; p < at + it->second;) {
    const ChunkIndex index = page_map_->Find(p);
    Chunk& c = (*chunks_)[index];
    c.dying = true;
    chunks_->NoteChange(index);
    chunks.push_back(index);
    p = p + c.size();
  }
  return chunks;
}

void Memory::Unclaim(absl::Span<const ChunkIndex> chunks) {
  for (const ChunkIndex index : chunks) {
    (*chunks_)[index].dying = false;
    chunks_->NoteChange(index);
  }
}

Memory::Taken Memory::TakeOut(DevicePtr at, const std::vector<ChunkIndex>& chunks) {
  Taken taken{at, {}, chunks, {}};
  for (const ChunkIndex index : chunks) {
    Chunk& c = (*chunks_)[index];
    if (c.on_device) policy_->OnRemove(index);
    taken.unmapped.push_back(c.unmapped);
    chunks_->SetUnmapped(index, false);  // Nobody is to show it any more.
    DropHostCopy(index);
    taken.detached.size_ += c.size();
    taken.detached.log2_sizes_.push_back(c.log2_size);
    taken.detached.backing_.push_back(c.on_device ? Backing{c.device_slot, true}
                                                  : Backing{c.host_slot, false});
  }
  page_map_->Set(at, taken.detached.size_, ChunkIndex());
  ReservationOf(at)->second.mapped.erase(at.value);
  AllocationsChanged();
  return taken;
}

void Memory::PutBack(const Taken& taken, bool unmapped) {
  std::vector<bool> missing = taken.unmapped;
  DevicePtr va = taken.at;
  for (size_t i = 0; i < taken.chunks.size(); ++i) {
    const Bytes size = ChunkBytes(taken.detached.log2_sizes_[i]);
    const Backing& b = taken.detached.backing_[i];
    // What was unmapped is mapped: work that came upon it meanwhile waits for that no more.
    if (missing[i] || unmapped) {
      const Status status =
          MapAt(*driver_, accessors_, va, size,
                b.on_device ? device_pool_->handle(b.slot) : host_pool_->handle(b.slot));
      driver_->RecordBackgroundError(status);
      missing[i] = !status.ok();
    }
    va = va + size;
  }
  MutexLock lock(mu);
  for (size_t i = 0; i < taken.chunks.size(); ++i) {
    const ChunkIndex index = taken.chunks[i];
    Chunk& c = (*chunks_)[index];
    c.dying = false;
    chunks_->NoteChange(index);
    c.lost = c.on_device && missing[i];
    chunks_->SetUnmapped(index, !c.on_device && missing[i]);
    if (c.on_device) policy_->OnInsert(index);
    page_map_->Set(c.base, c.size(), index);
  }
  ReservationOf(taken.at)->second.mapped.emplace(taken.at.value, taken.detached.size_);
  AllocationsChanged();
}

void Memory::Leave(const Taken& taken) {
  if (options_.listener != nullptr) options_.listener->Unmapped(taken.at);
  std::vector<ChunkIndex> unused;
  for (const ChunkIndex index : taken.chunks) {
    Chunk& c = (*chunks_)[index];
    if (IsUnused(c)) {
      unused.push_back(index);
      continue;
    }
    chunks_->NoteChange(index);
    // To work that counts it, it is in its place and stays there.
    if (c.state == ChunkState::kHost) {
      c.Transition(ChunkState::kMoving);
      c.on_device = true;
      c.Transition(ChunkState::kDevice);
    }
    if (c.state != ChunkState::kPinned) c.Transition(ChunkState::kPinned);
    c.device_slot = c.host_slot = kNoSlot;
    left_.push_back(index);
    dying_count_.fetch_add(1, std::memory_order_relaxed);
  }
  Forget(unused);
}

Status Memory::CopyDetached(const Detached& detached, DevicePtr to) {
  ScopedContext current(*driver_, options_.context);
  VS_RETURN_IF_ERROR(current.status());
  CUstream stream = nullptr;
  VS_RETURN_IF_ERROR(Check((*driver_)->StreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                           "cuStreamCreate", "to copy by"));
  Status status;
  for (size_t i = 0; i < detached.backing_.size() && status.ok(); ++i) {
    const Backing& b = detached.backing_[i];
    const Bytes size = ChunkBytes(detached.log2_sizes_[i]);
    DevicePtr from;
    if (b.on_device) {
      const StatusOr<DevicePtr> alias = device_pool_->Alias(b.slot);
      status = alias.status();
      if (!status.ok()) break;
      from = *alias;
    } else {
      from = host_pool_->alias(b.slot);
    }
    status = Check((*driver_)->MemcpyDtoDAsync(to.value, from.value, size.value, stream),
                   "cuMemcpyDtoDAsync", RangeText(to, size));
    to = to + size;
  }
  const Status done = Check((*driver_)->StreamSynchronize(stream), "cuStreamSynchronize");
  if (status.ok()) status = done;
  driver_->RecordBackgroundError(Check((*driver_)->StreamDestroy(stream), "cuStreamDestroy"));
  return status;
}

}  // namespace vramspan
