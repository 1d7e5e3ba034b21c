#include "runtime/memory/chunk_map.h"

#include <algorithm>
#include <utility>

namespace vramspan {

Status ChunkMap::Open(const std::shared_ptr<const Driver>& driver, Bytes arena) {
  VS_ASSIGN_OR_RETURN(arena_, Arena::Create(driver, arena));
  VS_ASSIGN_OR_RETURN(page_map_, PageMap::Create(arena_->base(), arena_->size()));
  const uint64_t capacity = arena_->size() / kGranularity + 1;
  VS_ASSIGN_OR_RETURN(
      chunks_, ChunkTable::Create(static_cast<uint32_t>(std::min<uint64_t>(capacity, 0xfffffffe))));
  return absl::OkStatus();
}

void ChunkMap::AllocationsChanged() {
  static std::atomic<uint64_t> last{1};
  allocations_state_.store(last.fetch_add(1, std::memory_order_relaxed) + 1,
                           std::memory_order_release);
}

StatusOr<std::vector<ChunkIndex>> ChunkMap::Add(size_t count) {
  std::vector<ChunkIndex> added;
  added.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    StatusOr<ChunkIndex> c = chunks_->Add();
    if (!c.ok()) {
      for (const ChunkIndex other : added) chunks_->Remove(other);
      return c.status();
    }
    added.push_back(*c);
  }
  return added;
}

void ChunkMap::Fill(const std::vector<ChunkIndex>& added, DevicePtr base,
                    absl::Span<const Backing> backing, uint32_t allocation, bool tracked) {
  DevicePtr at = base;
  for (size_t i = 0; i < added.size(); ++i) {
    Chunk& c = (*chunks_)[added[i]];
    const Backing& b = backing[i];
    c.base = at;
    c.log2_size = static_cast<uint8_t>(b.log2_size);
    c.allocation = allocation;
    c.on_device = b.on_device;
    (c.on_device ? c.device_slot : c.host_slot) = b.slot;
    c.tracked = tracked;
    c.movable = traced_;
    c.Transition(ChunkState::kFresh);
    // A linked program may write from here on without our seeing it, so fresh ends at once.
    c.Transition(c.on_device ? ChunkState::kDevice : ChunkState::kHost);
    chunks_->NoteChange(added[i]);
    if (c.on_device) policy_->OnInsert(added[i]);
    page_map_->Set(at, c.size(), added[i]);
    at = at + c.size();
  }
  counts_.chunks += added.size();
}

void ChunkMap::Forget(const std::vector<ChunkIndex>& chunks) {
  for (const ChunkIndex index : chunks) {
    policy_->Advise(index, /*leaves_first=*/false, /*on_device=*/false);
    pins_.erase(index.value);
    chunks_->Remove(index);
  }
  counts_.chunks -= chunks.size();
}

void ChunkMap::DropHostCopy(ChunkIndex index) {
  Chunk& c = (*chunks_)[index];
  if (c.state != ChunkState::kDeviceTwin && c.state != ChunkState::kDeviceStale) return;
  c.Transition(ChunkState::kDevice);
  chunks_->NoteChange(index);
  host_pool_->Release(c.host_slot);
  c.host_slot = kNoSlot;
}

std::optional<uint32_t> ChunkMap::TakeHostCopy(int log2) {
  for (uint32_t i = 1; i < chunks_->end(); ++i) {
    Chunk& c = (*chunks_)[ChunkIndex(i)];
    const bool copy = c.state == ChunkState::kDeviceTwin || c.state == ChunkState::kDeviceStale;
    if (!copy || c.log2_size != log2) continue;
    c.Transition(ChunkState::kDevice);
    chunks_->NoteChange(ChunkIndex(i));
    return std::exchange(c.host_slot, kNoSlot);
  }
  return std::nullopt;
}

ChunkIndex ChunkMap::FindFrom(DevicePtr p) const {
  const ChunkIndex index = page_map_->Find(p);
  if (index || reservations_.empty()) return index;
  const std::optional<DevicePtr> next = reservations_.NextMapped(p);
  return next ? page_map_->Find(*next) : ChunkIndex();
}

bool ChunkMap::ForEach(DevicePtr p, Bytes size, absl::FunctionRef<void(ChunkIndex, Chunk&)> visit) {
  ChunkIndex index = FindFrom(p);
  if (!index) return false;
  const uint32_t allocation = (*chunks_)[index].allocation;
  const uint64_t last = size.value == 0 ? p.value : p.value + (size.value - 1);
  bool any = false;
  for (;;) {
    Chunk& c = (*chunks_)[index];
    // The `last < p` case is an absurd size that wraps.
    if (last >= p.value && c.base.value > last) return any;
    if (!c.dying) {
      visit(index, c);
      any = true;
    }
    const DevicePtr next = c.base + c.size();
    // A packed object never leaves its chunk.
    if (allocation == 0 || (last >= p.value && next.value > last)) return any;
    index = FindFrom(next);
    if (!index || (*chunks_)[index].allocation != allocation) return any;
  }
}

void ChunkMap::CountAllocation(Bytes size, Bytes charged) {
  ++counts_.allocations;
  counts_.allocated += size;
  counts_.charged += charged;
  counts_.peak_allocated = std::max(counts_.peak_allocated, counts_.allocated);
}

void ChunkMap::CountFree(Bytes size, Bytes charged) {
  --counts_.allocations;
  counts_.allocated -= size;
  counts_.charged -= charged;
}

}  // namespace vramspan
