#include "runtime/observe/encoded_addresses.h"

#include <cstring>

#include "runtime/observe/encoded_search.h"

namespace vramspan {

EncodedAddresses EncodedAddresses::Find(absl::Span<const char> block, absl::Span<const Touch> named,
                                        const World& world) {
  EncodedAddresses found;
  EncodedSearch().Find(block, named, world, &found);
  return found;
}

bool EncodedAddresses::MayHold(absl::Span<const char> block, const ArenaSet& arenas) {
  // All slots count as named, and all else as an allocation of its own.
  const auto allocation = [](DevicePtr p) { return Extent{p, Bytes(1)}; };
  std::vector<Touch> slots;
  bool distance = false;
  constexpr size_t kSlot = sizeof(uint64_t);
  for (size_t at = 0; at + kSlot <= block.size(); at += kSlot) {
    uint64_t value;
    std::memcpy(&value, &block[at], kSlot);
    const DevicePtr p(value);
    distance |= IsDistance(static_cast<int64_t>(value));
    if (!arenas.Has(value)) continue;
    // In front of an array: whoever knows what lives where can tell.
    slots.push_back({.ptr = p, .size = Bytes(1)});
    slots.push_back({.ptr = p + kInFront, .size = Bytes(1)});
  }
  if (distance && !slots.empty()) return true;
  return Find(block, slots, {arenas, Bytes(0), allocation}).any();
}

}  // namespace vramspan
