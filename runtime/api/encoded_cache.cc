#include "runtime/api/encoded_cache.h"

#include <absl/container/flat_hash_set.h>

#include "runtime/space/small_objects.h"

namespace vramspan {
namespace {

constexpr int kLaunchesLog2 = 11;
constexpr int kGraphsLog2 = 8;         // Segments of a graph are many.
constexpr size_t kMostOfGraph = 1024;  // Allocations that it may mean.

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
  // Read first: what changes while it is looked for makes the answer old.
  const uint64_t allocations = memory.allocations_state();
  const auto allocation = [&](DevicePtr p) { return extents->Find(memory, p); };
  const EncodedAddresses::World world{arenas, SmallObjects::kMaxSmall, allocation};
  if (launch.graph != nullptr) return FindInGraph(launch, world, allocations);
  if (entries_.empty()) entries_.resize(size_t{1} << kLaunchesLog2);
  const uint64_t key = KeyOf(launch);
  Entry& entry = entries_[key * 0x9e3779b97f4a7c15u >> (64 - kLaunchesLog2)];
  if (entry.key == key && entry.allocations == allocations) return entry.found;
  entry.key = key;
  entry.allocations = 0;  // As long as it is not found.
  search_.Find(launch.parameters.Block(&block_), launch.touches, world, &entry.found);
  entry.allocations = allocations;
  return entry.found;
}

const EncodedAddresses& EncodedCache::FindInGraph(const Submission& launch,
                                                  const EncodedAddresses::World& world,
                                                  uint64_t allocations) {
  if (graphs_.empty()) graphs_.resize(size_t{1} << kGraphsLog2);
  const uint64_t number = launch.graph->number;
  GraphEntry& entry = graphs_[number % graphs_.size()];
  if (entry.number == number && entry.allocations == allocations) return entry.found;
  // What the slots of all nodes show may be in front of arrays. What a copy names is no more than
  // what it copies.
  std::vector<Touch> pointers;
  absl::flat_hash_set<uint64_t> known;  // Allocations that are possible, by their bases.
  for (const Touch& touch : launch.touches) {
    if (touch.size != Bytes(0)) continue;
    pointers.push_back(touch);
    known.insert(world.allocation(touch.ptr).base.value);
  }
  entry.number = number;
  entry.allocations = 0;
  search_.Find({}, pointers, world, &entry.found);
  std::vector<DevicePtr>& all = entry.found.possible;
  for (const DevicePtr p : all) known.insert(world.allocation(p).base.value);
  EncodedAddresses found;
  for (const EncodedParameters& parameters : launch.graph->encoded) {
    search_.Find(parameters.block, parameters.named, world, &found);
    entry.found.anywhere |= found.anywhere;
    for (const DevicePtr p : found.possible) {
      if (known.insert(world.allocation(p).base.value).second) all.push_back(p);
    }
  }
  entry.found.anywhere |= all.size() > kMostOfGraph;
  entry.allocations = allocations;
  return entry.found;
}

}  // namespace vramspan
