#include "runtime/memory/dismantler.h"

#include <optional>
#include <utility>

namespace vramspan {

Status Dismantler::TakeApart(ChunkRange range) {
  StatusOr<std::vector<Backing>> backing = Dismantle(std::move(range));
  VS_RETURN_IF_ERROR(backing.status());
  for (const Backing& b : *backing) supply_.Unback(b);
  return absl::OkStatus();
}

StatusOr<std::vector<Backing>> Dismantler::Dismantle(ChunkRange range) {
  SharedLock mapping(peers_.mapping_mu);
  std::vector<Backing> backing;
  const DevicePool& pool = state_.device_pool();
  {
    MutexLock lock(state_.mu);
    ChunkTable& chunks = state_.chunks();
    for (const ChunkIndex index : range.chunks) {
      if (state_.Busy(chunks[index])) {
        state_.freed_ranges().AddDying(std::move(range));
        return backing;
      }
    }
    state_.map().page_map().Set(range.base, range.size, ChunkIndex());
    bool on_device = true;
    range.gone.resize(range.chunks.size());
    for (size_t i = 0; i < range.chunks.size(); ++i) {
      const ChunkIndex index = range.chunks[i];
      Chunk& c = chunks[index];
      if (c.on_device) state_.policy().OnRemove(index);
      range.gone[i] = range.gone[i] || c.unmapped;
      chunks.SetUnmapped(index, false);  // Nobody is to show it any more.
      chunks.NoteChange(index);
      // Gone at once: until the chunk leaves the table, others may look for copies to drop.
      state_.DropHostCopy(index);
      // What other processes may have is not for another allocation.
      on_device = on_device && c.on_device && !pool.shareable(c.device_slot);
      backing.push_back(BackingOf(c));
    }
    // What is kept would be passed by while access is being changed.
    if (on_device && !peers_.changing() && pool.used() <= pool.budget()) {
      Keep(range);
      return std::vector<Backing>();
    }
  }
  ScopedContext current(state_.driver(), state_.options().context);
  Status status = current.status();
  if (status.ok()) status = UnmapRange(&range);
  MutexLock lock(state_.mu);
  if (!status.ok()) {
    PutBack(std::move(range));
    return status;
  }
  state_.map().Forget(range.chunks);
  state_.map().arena().Give(range.base, range.size);
  return backing;
}

void Dismantler::PutBack(ChunkRange range) {
  // Still mapped, some of it: it is kept together and tried again later.
  DevicePtr at = range.base;
  for (const ChunkIndex index : range.chunks) {
    const Chunk& c = state_.chunks()[index];
    if (c.on_device) state_.policy().OnInsert(index);
    state_.map().page_map().Set(at, c.size(), index);
    at = at + c.size();
  }
  state_.freed_ranges().AddStuck(std::move(range));
}

Status Dismantler::UnmapRange(ChunkRange* range) {
  std::vector<Bytes> sizes;
  {
    MutexLock lock(state_.mu);
    for (const ChunkIndex index : range->chunks) sizes.push_back(state_.chunks()[index].size());
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
        Check(state_.driver()->MemUnmap(at.value, size.value), "cuMemUnmap", RangeText(at, size)));
    for (at = at + size; i < end; ++i) range->gone[i] = true;
  }
  return absl::OkStatus();
}

void Dismantler::Keep(const ChunkRange& range) {
  FreeRange kept{range.base, range.size, {}, {}};
  for (const ChunkIndex index : range.chunks) {
    kept.slots.push_back(state_.chunks()[index].device_slot);
    kept.log2_sizes.push_back(state_.chunks()[index].log2_size);
  }
  state_.device_pool().Park(kept.slots);
  state_.map().Forget(range.chunks);
  state_.freed_ranges().kept().Add(std::move(kept));
}

StatusOr<bool> Dismantler::GiveUpKept(int log2) {
  // One at a time: who finds nothing here may rely on it that nobody else is about to release some.
  MutexLock one(give_up_mu_);
  SharedLock mapping(peers_.mapping_mu);
  std::optional<FreeRange> range;
  {
    MutexLock lock(state_.mu);
    range = state_.freed_ranges().kept().TakeOldest(log2);
  }
  if (!range) return false;
  ScopedContext current(state_.driver(), state_.options().context);
  Status status = current.status();
  if (status.ok()) {
    status = Check(state_.driver()->MemUnmap(range->base.value, range->size.value), "cuMemUnmap",
                   RangeText(range->base, range->size));
  }
  if (status.ok()) {
    for (const uint32_t slot : range->slots) state_.device_pool().Release(slot);
  }
  MutexLock lock(state_.mu);
  if (!status.ok()) {
    state_.freed_ranges().kept().Add(*std::move(range));
    return status;
  }
  state_.map().arena().Give(range->base, range->size);
  return true;
}

void Dismantler::GiveUpAll() {
  while (const std::optional<FreeRange> range = state_.freed_ranges().kept().TakeOldest(0)) {
    state_.driver().RecordBackgroundError(
        Check(state_.driver()->MemUnmap(range->base.value, range->size.value), "cuMemUnmap",
              RangeText(range->base, range->size)));
    for (const uint32_t slot : range->slots) state_.device_pool().Release(slot);
  }
}

}  // namespace vramspan
