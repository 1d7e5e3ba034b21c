#include "runtime/memory/mappings.h"

#include <absl/strings/str_format.h>

namespace vramspan {
namespace {

Status NotMapped(DevicePtr p) {
  return absl::InvalidArgumentError(
      absl::StrFormat("no memory of this runtime was mapped at 0x%x", p.value));
}

}  // namespace

StatusOr<std::vector<ChunkIndex>> Mappings::Prepare(const DetachedMemory& detached, DevicePtr at) {
  const Bytes size = detached.size();
  bool taken = map_.reservations().Holding(at, size) == 0;
  for (DevicePtr p = at; !taken && p < at + size; p = p + kGranularity) {
    taken = static_cast<bool>(map_.page_map().Find(p));
  }
  if (taken) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "cannot map %d bytes at 0x%x: the range is not reserved, or something is mapped there",
        size.value, at.value));
  }
  return map_.Add(detached.backing().size());
}

void Mappings::GiveUp(const std::vector<ChunkIndex>& added) {
  for (const ChunkIndex index : added) map_.chunks().Remove(index);
}

void Mappings::Show(const std::vector<ChunkIndex>& added, const DetachedMemory& detached,
                    DevicePtr at, bool pinned, bool tracked) {
  const Bytes size = detached.size();
  map_.Fill(added, at, detached.backing(), map_.reservations().Holding(at, size), tracked);
  for (size_t i = 0; pinned && i < added.size(); ++i) {
    map_.pins()[added[i].value] = 1;
    map_.chunks()[added[i]].Transition(ChunkState::kPinned);
  }
  map_.reservations().Map(at, size);
  map_.AllocationsChanged();
  if (listener_ != nullptr) listener_->Mapped(at, size);
}

StatusOr<DetachedMemory> Mappings::DetachedAt(DevicePtr at) {
  const Bytes size = map_.reservations().MappedAt(at);
  if (size == Bytes(0)) return NotMapped(at);
  DetachedMemory detached;
  for (DevicePtr p = at; p < at + size;) {
    const Chunk& c = map_.chunks()[map_.page_map().Find(p)];
    detached.Add(BackingOf(c));
    p = p + c.size();
  }
  return detached;
}

StatusOr<std::vector<ChunkIndex>> Mappings::Claim(DevicePtr at) {
  const Bytes size = map_.reservations().MappedAt(at);
  if (size == Bytes(0)) return NotMapped(at);
  std::vector<ChunkIndex> chunks;
  for (DevicePtr p = at; p < at + size;) {
    const ChunkIndex index = map_.page_map().Find(p);
    Chunk& c = map_.chunks()[index];
    c.dying = true;
    map_.chunks().NoteChange(index);
    chunks.push_back(index);
    p = p + c.size();
  }
  return chunks;
}

void Mappings::Unclaim(absl::Span<const ChunkIndex> chunks) {
  for (const ChunkIndex index : chunks) {
    map_.chunks()[index].dying = false;
    map_.chunks().NoteChange(index);
  }
  // Launches that came meanwhile were told that there is nothing.
  map_.AllocationsChanged();
}

Mappings::Taken Mappings::TakeOut(DevicePtr at, const std::vector<ChunkIndex>& chunks) {
  Taken taken{at, {}, chunks, {}};
  for (const ChunkIndex index : chunks) {
    Chunk& c = map_.chunks()[index];
    if (c.on_device) map_.policy().OnRemove(index);
    taken.unmapped.push_back(c.unmapped);
    map_.chunks().SetUnmapped(index, false);  // Nobody is to show it any more.
    map_.chunks().NoteChange(index);
    map_.DropHostCopy(index);
    taken.detached.Add(BackingOf(c));
  }
  map_.page_map().Set(at, taken.detached.size(), ChunkIndex());
  map_.reservations().Unmap(at);
  map_.AllocationsChanged();
  return taken;
}

void Mappings::PutBack(const Taken& taken, const std::vector<bool>& missing) {
  for (size_t i = 0; i < taken.chunks.size(); ++i) {
    const ChunkIndex index = taken.chunks[i];
    Chunk& c = map_.chunks()[index];
    c.dying = false;
    map_.chunks().NoteChange(index);
    c.lost = c.on_device && missing[i];
    map_.chunks().SetUnmapped(index, !c.on_device && missing[i]);
    if (c.on_device) map_.policy().OnInsert(index);
    map_.page_map().Set(c.base, c.size(), index);
  }
  map_.reservations().Map(taken.at, taken.detached.size());
  map_.AllocationsChanged();
}

void Mappings::Leave(const Taken& taken) {
  if (listener_ != nullptr) listener_->Unmapped(taken.at);
  std::vector<ChunkIndex> unused;
  for (const ChunkIndex index : taken.chunks) {
    Chunk& c = map_.chunks()[index];
    if (IsUnused(c)) {
      unused.push_back(index);
      continue;
    }
    map_.chunks().NoteChange(index);
    // To work that counts it, it is in its place and stays there.
    if (c.state == ChunkState::kHost) {
      c.Transition(ChunkState::kMoving);
      c.on_device = true;
      c.Transition(ChunkState::kDevice);
    }
    if (c.state != ChunkState::kPinned) c.Transition(ChunkState::kPinned);
    c.device_slot = c.host_slot = kNoSlot;
    freed_.AddLeft(index);
  }
  map_.Forget(unused);
}

}  // namespace vramspan
