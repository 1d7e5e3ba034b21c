#include "runtime/api/extent_cache.h"

namespace vramspan {
namespace {

constexpr int kEntriesLog2 = 11;

// By the smallest chunk that the pointer may lie in: but for packed objects no two allocations
// share one, and a program names many places in each.
size_t PlaceOf(DevicePtr p) {
  return (p.value >> kMinChunkLog2) * 0x9e3779b97f4a7c15u >> (64 - kEntriesLog2);
}

// Where the smallest chunk begins that the address may lie in.
DevicePtr ChunkOf(DevicePtr p) { return DevicePtr(p.value >> kMinChunkLog2 << kMinChunkLog2); }

}  // namespace

Extent ExtentCache::Find(Memory& memory, DevicePtr p) {
  if (entries_.empty()) entries_.resize(size_t{1} << kEntriesLog2);
  // Read first: what changes while it is looked up makes the answer old.
  const uint64_t allocations = memory.allocations_state();
  Entry& entry = entries_[PlaceOf(p)];
  const Extent& known = entry.extent;
  if (entry.allocations == allocations) {
    if (p - known.base < known.size) return known;
    // Nothing lived there. Packed objects come unnoticed, but a chunk comes with them.
    if (known.size == Bytes(0) && known.base == ChunkOf(p) && !memory.page_map().Find(p)) return {};
  }
  const StatusOr<Allocation> a = memory.Find(p);
  if (!a.ok()) {
    // Numbers that look like addresses lead here, and again and again to the same places.
    if (!memory.page_map().Find(p)) entry = {allocations, {ChunkOf(p), Bytes(0)}};
    return {};
  }
  const Extent extent{a->base, a->reserved.value != 0 ? a->reserved : a->requested};
  // Packed objects come and go by the thousand, and have no part in the state.
  if (a->id != 0) entry = {allocations, extent};
  return extent;
}

}  // namespace vramspan
