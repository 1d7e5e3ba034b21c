#include "runtime/api/encoded_cache.h"

#include <algorithm>

#include "runtime/space/small_objects.h"

namespace vramspan {
namespace {

constexpr int kLaunchesLog2 = 11;
constexpr int kGraphsLog2 = 8;  // Segments of a graph are many.

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
  entry = {key, allocations,
           EncodedAddresses::Find(launch.parameters.Block(&block_), launch.touches, world)};
  return entry.found;
}

const EncodedAddresses& EncodedCache::FindInGraph(const Submission& launch,
                                                  const EncodedAddresses::World& world,
                                                  uint64_t allocations) {
  if (graphs_.empty()) graphs_.resize(size_t{1} << kGraphsLog2);
  const auto address = reinterpret_cast<uintptr_t>(launch.graph.get());
  GraphEntry& entry = graphs_[address * 0x9e3779b97f4a7c15u >> (64 - kGraphsLog2)];
  if (entry.graph == launch.graph && entry.allocations == allocations) return entry.found;
  // What the slots of all nodes show may be in front of arrays.
  entry = {launch.graph, allocations, EncodedAddresses::Find({}, launch.touches, world)};
  std::vector<DevicePtr>& all = entry.found.possible;
  for (const EncodedParameters& parameters : launch.graph->encoded) {
    EncodedAddresses found = EncodedAddresses::Find(parameters.block, parameters.named, world);
    entry.found.anywhere |= found.anywhere;
    all.insert(all.end(), found.possible.begin(), found.possible.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return entry.found;
}

}  // namespace vramspan
