#include "runtime/observe/encoded_addresses.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cstring>

namespace vramspan {
namespace {

constexpr size_t kSlot = sizeof(uint64_t);
constexpr size_t kWord = sizeof(uint32_t);
constexpr int kTagBits = 16;
constexpr int kLeastShift = 4, kMostShift = 12;
constexpr uint64_t kUpperHalf = uint64_t{1} << 32;
// Of a distance that is told in elements: the sizes of these, and the most of it.
constexpr int64_t kElements[] = {1, 2, 4, 8, 16};
constexpr int64_t kFarthest = int64_t{1} << 47;
// How far the halves of an address are looked for from each other, and what is no lower half but a
// number.
constexpr size_t kHalvesApart = 4 * kWord;
constexpr uint32_t kSmall = 1 << 16;

template <typename T>
T Read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// Those that are negative: of the others most count something.
bool IsDistance(int64_t number) { return number < 0 && number > -kFarthest; }

class Search {
 public:
  Search(absl::Span<const char> block, absl::Span<const Touch> named,
         const EncodedAddresses::World& world)
      : block_(block), world_(world) {
    for (const Touch& touch : named) {
      const Extent extent = world_.allocation(touch.ptr);
      if (extent.size.value == 0) continue;
      if (!absl::c_linear_search(known_, extent.base)) known_.push_back(extent.base);
      if (touch.via == Via::kCall && touch.size.value == 0)
        pointers_.push_back({touch.ptr, extent});
    }
    for (const Touch& touch : named) {
      if (touch.size.value == 0) NameInFront(touch.ptr.value);
    }
  }

  EncodedAddresses Run() {
    for (size_t at = 0; at + kSlot <= block_.size(); ++at) Bytes8(at);
    for (size_t at = 0; at + kWord <= block_.size(); at += kWord) Half(at);
    if (!pointers_.empty()) Distances();
    return std::move(found_);
  }

 private:
  struct Pointer {
    DevicePtr ptr;
    Extent extent;
  };

  // Whatever lives at the address may be meant.
  void Name(uint64_t address) {
    const Extent extent = world_.allocation(DevicePtr(address));
    if (extent.size <= world_.never_moves || absl::c_linear_search(known_, extent.base)) return;
    if (found_.possible.size() == EncodedAddresses::kMost) {
      found_.anywhere = true;
      return;
    }
    known_.push_back(extent.base);
    found_.possible.emplace_back(address);
  }
  // The array that begins a little behind the address. Where arrays begin is aligned, so that an
  // address which is, is no other's.
  void NameInFront(uint64_t address) {
    if (address % WorkingSets::kAlignment.value == 0) return;
    const uint64_t behind = address + EncodedAddresses::kInFront.value;
    if (world_.arenas.Near(behind)) Name(behind);
  }
  void NameIfNear(uint64_t address) {
    if (world_.arenas.Near(address)) Name(address);
  }

  void Bytes8(size_t at) {
    const auto value = Read<uint64_t>(&block_[at]);
    NameInFront(value);
    NameIfNear(value);
    if (value >> (64 - kTagBits) != 0) NameIfNear(value << kTagBits >> kTagBits);
    if (at % kWord != 0) return;
    for (int shift = kLeastShift; shift <= kMostShift; ++shift) {
      if (value << shift >> shift == value) NameIfNear(value << shift);
    }
  }

  // A word that may be the upper half of an address, with its lower half near it. What is passed to
  // kernels has gaps that hold what lay there before, so there is many a half of an old address.
  void Half(size_t at) {
    const uint64_t upper = uint64_t{Read<uint32_t>(&block_[at])} << 32;
    if (!world_.arenas.NearAny(upper, kUpperHalf) || InAddress(at)) return;
    const size_t first = at - std::min(at, kHalvesApart);
    const size_t end = std::min(block_.size() - kWord, at + kHalvesApart);
    for (size_t low = first; low <= end; low += kWord) {
      const auto lower = Read<uint32_t>(&block_[low]);
      if (low != at && lower >= kSmall && !InAddress(low)) Name(upper | lower);
    }
  }
  // Whether the word is part of a slot that holds an address.
  bool InAddress(size_t at) const {
    const size_t slot = at / kSlot * kSlot;
    return slot + kSlot <= block_.size() && world_.arenas.Has(Read<uint64_t>(&block_[slot]));
  }

  void Distances() {
    for (size_t at = 0; at + kSlot <= block_.size(); at += kSlot) {
      const auto number = Read<int64_t>(&block_[at]);
      if (IsDistance(number)) numbers_.push_back(number);
    }
    absl::c_sort(numbers_);
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
    if (pointers_.size() * numbers_.size() > EncodedAddresses::kMostPairs) {
      found_.anywhere = true;
      return;
    }
    for (const Pointer& pointer : pointers_) {
      for (const int64_t number : numbers_) Distance(pointer, number);
    }
  }

  void Distance(const Pointer& pointer, int64_t number) {
    const auto in_front = static_cast<int64_t>((pointer.ptr - pointer.extent.base).value);
    for (const int64_t element : kElements) {
      const int64_t distance = number * element;
      if (-distance > in_front) NameStart(pointer.ptr.value + static_cast<uint64_t>(distance));
    }
  }
  // The array that begins there.
  void NameStart(uint64_t address) {
    if (!world_.arenas.Near(address)) return;
    if (world_.allocation(DevicePtr(address)).base.value == address) Name(address);
  }

  const absl::Span<const char> block_;
  const EncodedAddresses::World& world_;
  std::vector<DevicePtr> known_;  // Allocations that are named, by their bases.
  std::vector<Pointer> pointers_;
  std::vector<int64_t> numbers_;
  EncodedAddresses found_;
};

}  // namespace

EncodedAddresses EncodedAddresses::Find(absl::Span<const char> block, absl::Span<const Touch> named,
                                        const World& world) {
  return Search(block, named, world).Run();
}

bool EncodedAddresses::MayHold(absl::Span<const char> block, const ArenaSet& arenas) {
  // All slots count as named, and all else as an allocation of its own.
  const auto allocation = [](DevicePtr p) { return Extent{p, Bytes(1)}; };
  std::vector<Touch> slots;
  bool distance = false;
  for (size_t at = 0; at + kSlot <= block.size(); at += kSlot) {
    const DevicePtr p(Read<uint64_t>(&block[at]));
    distance |= IsDistance(Read<int64_t>(&block[at]));
    if (!arenas.Has(p.value)) continue;
    // In front of an array: whoever knows what lives where can tell.
    slots.push_back({.ptr = p, .size = Bytes(1)});
    slots.push_back({.ptr = p + kInFront, .size = Bytes(1)});
  }
  if (distance && !slots.empty()) return true;
  return Find(block, slots, {arenas, Bytes(0), allocation}).any();
}

}  // namespace vramspan
