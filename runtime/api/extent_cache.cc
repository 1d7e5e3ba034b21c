#include "runtime/api/extent_cache.h"

namespace vramspan {
namespace {

constexpr int kEntriesLog2 = 11;

// By the smallest chunk that the pointer may lie in: but for packed objects no two allocations
// share one, and a program names many places in each.
size_t PlaceOf(DevicePtr p) {
  return (p.value >> kMinChunkLog2) * 0x9e3779b97f4a7c15u >> (64 - kEntriesLog2);
}

}  // namespace

Extent ExtentCache::Find(Memory& memory, DevicePtr p) {
  if (entries_.empty()) entries_.resize(size_t{1} << kEntriesLog2);
  // Read first: what changes while it is looked up makes the answer old.
  const uint64_t allocations = memory.allocations_state();
  Entry& entry = entries_[PlaceOf(p)];
  if (entry.allocations == allocations && entry.extent.base <= p &&
      p < entry.extent.base + entry.extent.size) {
    return entry.extent;
  }
  const StatusOr<Allocation> a = memory.Find(p);
  if (!a.ok()) return {};
  const Extent extent{a->base, a->reserved.value != 0 ? a->reserved : a->requested};
  // Packed objects come and go by the thousand, and have no part in the state.
  if (a->id != 0) entry = {allocations, extent};
  return extent;
}

}  // namespace vramspan
