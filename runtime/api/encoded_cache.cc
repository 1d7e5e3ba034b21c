#include "runtime/api/encoded_cache.h"

#include "runtime/space/small_objects.h"

namespace vramspan {
namespace {

constexpr int kLaunchesLog2 = 11;

// All bytes of the parameters: those that are no pointers are in `numbers`, and so is where the
// pointers are.
uint64_t KeyOf(const Submission& launch) {
  uint64_t key = launch.numbers ^ reinterpret_cast<uintptr_t>(launch.code);
  for (const Touch& touch : launch.touches) {
    key = (key ^ touch.ptr.value ^ uint64_t{touch.slot} << 48) * 0x9e3779b97f4a7c15u;
    key ^= key >> 29;
  }
  return key;
}

}  // namespace

const EncodedAddresses& EncodedCache::Find(const Submission& launch, const ArenaSet& arenas,
                                           Memory& memory, ExtentCache* extents) {
  if (entries_.empty()) entries_.resize(size_t{1} << kLaunchesLog2);
  // Read first: what changes while it is looked for makes the answer old.
  const uint64_t allocations = memory.allocations_state();
  const uint64_t key = KeyOf(launch);
  Entry& entry = entries_[key * 0x9e3779b97f4a7c15u >> (64 - kLaunchesLog2)];
  if (entry.key == key && entry.allocations == allocations) return entry.found;
  const auto allocation = [&](DevicePtr p) { return extents->Find(memory, p); };
  entry = {key, allocations,
           EncodedAddresses::Find(launch.parameters.Block(&block_), launch.touches,
                                  {arenas, SmallObjects::kMaxSmall, allocation})};
  return entry.found;
}

}  // namespace vramspan
