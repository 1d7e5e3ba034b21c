#include "runtime/observe/encoded_search.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/observe/address_sieve.h"

namespace vramspan {
namespace {

constexpr size_t kSlot = sizeof(uint64_t);
constexpr size_t kWord = sizeof(uint32_t);
constexpr int kTagBits = 16;
constexpr int kLeastShift = 4, kMostShift = 12;
constexpr uint64_t kUpperHalf = uint64_t{1} << 32;
// Of a distance that is told in elements: the sizes of these.
constexpr int64_t kElements[] = {1, 2, 4, 8, 16};
// How far the halves of an address are looked for from each other, and what is no lower half but a
// number.
constexpr size_t kHalvesApart = 4 * kWord;
constexpr uint32_t kSmall = 1 << 16;
// Times so many places as the sieve looks at together.
constexpr size_t kAtOnce = 64;
// Slots name in order what they hold, but for what they hold often.
constexpr size_t kAhead = 2;

template <typename T>
T ReadAt(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

}  // namespace

class EncodedSearch::Run {
 public:
  Run(absl::Span<const char> block, absl::Span<const Touch> named,
      const EncodedAddresses::World& world, EncodedSearch* search, EncodedAddresses* found)
      : block_(block), named_(named), world_(world), search_(*search), found_(*found) {
    search_.known_.clear();
    search_.halves_.clear();
    search_.numbers_.clear();
    found_.possible.clear();
    found_.anywhere = false;
    const uint64_t low = world.arenas.low(), high = low + world.arenas.span() - 1;
    if (high < low) return;
    fewest_zeros_ = std::countl_zero(high);
    most_zeros_ = std::countl_zero(low);
  }

  void Named() {
    for (const Touch& touch : named_) {
      if (touch.size.value == 0) NameInFront(touch.ptr.value);
    }
  }

  void Block() {
    const AddressSieve sieve(world_.arenas, EncodedAddresses::kInFront, kLeastShift, kMostShift);
    uint64_t found[kAtOnce * AddressSieve::kFound];
    size_t at = 0;
    while (at + AddressSieve::kReads <= block_.size()) {
      const size_t left = (block_.size() - at - AddressSieve::kReads) / AddressSieve::kPlaces + 1;
      const size_t count = std::min(left, kAtOnce);
      sieve.Look(&block_[at], count, found);
      for (size_t i = 0; i < count * AddressSieve::kFound; ++i, at += sizeof(found[i])) {
        if (found[i] != 0) Places(at, found[i]);
      }
    }
    // The last ones, with zeros behind them, are fewer than two words of what is found.
    if (at + kSlot <= block_.size()) {
      char rest[AddressSieve::kReads] = {};
      std::memcpy(rest, &block_[at], block_.size() - at);
      sieve.Look(rest, 1, found);
      const size_t places = block_.size() - at - kSlot + 1;
      const uint64_t last = (uint64_t{1} << places % kSlot * 8) - 1;
      Places(at, places < kSlot ? found[0] & last : found[0]);
      if (places > kSlot) Places(at + kSlot, found[1] & last);
    }
    // The first word is behind no place.
    if (block_.size() >= kWord) Half(0);
    for (const size_t upper : search_.halves_) Half(upper);
  }

  void Distances() {
    std::vector<int64_t>& numbers = search_.numbers_;
    if (numbers.empty()) return;
    LookUpNamed();
    std::vector<Pointer>& pointers = search_.pointers_;
    pointers.clear();
    for (const Touch& touch : named_) {
      if (touch.via != Via::kCall || touch.size.value != 0) continue;
      const Extent extent = ExtentOf(touch.ptr);
      if (extent.size.value != 0) pointers.push_back({touch.ptr, extent});
    }
    absl::c_sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    if (pointers.size() * numbers.size() > EncodedAddresses::kMostPairs) {
      found_.anywhere = true;
      return;
    }
    for (const Pointer& pointer : pointers) {
      for (const int64_t number : numbers) Distance(pointer, number);
    }
  }

 private:
  // The first of those that are named which begins behind the address.
  size_t Behind(DevicePtr p) const {
    const std::vector<Extent>& known = search_.known_;
    const auto behind =
        absl::c_upper_bound(known, p, [](DevicePtr a, const Extent& b) { return a < b.base; });
    return static_cast<size_t>(behind - known.begin());
  }
  // The one that the address lies in; null: none.
  const Extent* Known(DevicePtr p) {
    const std::vector<Extent>& known = search_.known_;
    const auto holds = [&](size_t i) { return p - known[i].base < known[i].size; };
    if (last_ < known.size() && holds(last_)) return &known[last_];
    const size_t behind = Behind(p);
    if (behind == 0 || !holds(behind - 1)) return nullptr;
    last_ = behind - 1;
    return &known[last_];
  }
  void Add(const Extent& extent) {
    const size_t behind = Behind(extent.base);
    search_.known_.insert(search_.known_.begin() + static_cast<ptrdiff_t>(behind), extent);
    last_ = behind;
  }
  // What the address lies in, which is named from here on.
  Extent ExtentOf(DevicePtr p) {
    if (const Extent* const known = Known(p)) return *known;
    const Extent extent = world_.allocation(p);
    if (extent.size.value != 0) Add(extent);
    return extent;
  }
  // Where nothing else is found, nobody asks what the slots name.
  void LookUpNamed() {
    if (std::exchange(looked_up_, true)) return;
    for (const Touch& touch : named_) ExtentOf(touch.ptr);
  }

  // Whatever lives at the address may be meant.
  void Name(uint64_t address) {
    LookUpNamed();
    const DevicePtr p(address);
    if (Known(p) != nullptr) return;
    const Extent extent = world_.allocation(p);
    if (extent.size <= world_.never_moves) return;
    if (found_.possible.size() == EncodedAddresses::kMost) {
      found_.anywhere = true;
      return;
    }
    Add(extent);
    found_.possible.push_back(p);
  }
  // The array that begins a little behind the address. Where arrays begin is aligned, so that an
  // address which is, is no other's.
  void NameInFront(uint64_t address) {
    if (address % WorkingSets::kAlignment.value == 0) return;
    NameIfNear(address + EncodedAddresses::kInFront.value);
  }
  void NameIfNear(uint64_t address) {
    if (world_.arenas.Near(address)) Name(address);
  }

  // What the sieve let through of the places from `at` on. REQUIRES: each has its bytes.
  void Places(size_t at, uint64_t places) {
    for (; places != 0; places &= places - 1) {
      const auto bit = static_cast<size_t>(std::countr_zero(places));
      const size_t place = at + bit / 8;
      const auto value = ReadAt<uint64_t>(&block_[place]);
      const uint64_t what = uint64_t{1} << bit % 8;
      // Small numbers are many, and look like this.
      if (what == AddressSieve::kShifted) {
        Shifted(value);
      } else if (what == AddressSieve::kAddress) {
        if (place % kSlot != 0 || !IsNamed(value)) Address(place, value);
      } else if (EncodedAddresses::IsDistance(static_cast<int64_t>(value))) {
        search_.numbers_.push_back(static_cast<int64_t>(value));
      }
    }
  }
  // Whether a slot's value is what the slots name next: all that it says is known.
  bool IsNamed(uint64_t value) {
    if (!world_.arenas.Has(value)) return false;
    const size_t end = std::min(named_.size(), next_ + kAhead);
    for (size_t i = next_; i < end; ++i) {
      if (named_[i].ptr.value != value || named_[i].size.value != 0) continue;
      next_ = i + 1;
      return true;
    }
    return false;
  }
  void Address(size_t at, uint64_t value) {
    NameInFront(value);
    NameIfNear(value);
    if (value >> (64 - kTagBits) != 0) NameIfNear(value << kTagBits >> kTagBits);
    if (at % kWord == 0 && MayBeUpper(at + kWord)) search_.halves_.push_back(at + kWord);
  }
  void Shifted(uint64_t value) {
    // No other shift makes it as long as addresses are.
    const int zeros = std::countl_zero(value);
    const int most = std::min(kMostShift, zeros - fewest_zeros_);
    int shift = zeros - most_zeros_;
    if (shift < kLeastShift) shift = kLeastShift;
    for (; shift <= most; ++shift) NameIfNear(value << shift);
  }

  bool MayBeUpper(size_t at) const {
    const uint64_t upper = uint64_t{ReadAt<uint32_t>(&block_[at])} << 32;
    return world_.arenas.NearAny(upper, kUpperHalf);
  }
  // A word that may be the upper half of an address, with its lower half near it. What is passed to
  // kernels has gaps that hold what lay there before, so there is many a half of an old address.
  void Half(size_t at) {
    if (!MayBeUpper(at) || InAddress(at)) return;
    const uint64_t upper = uint64_t{ReadAt<uint32_t>(&block_[at])} << 32;
    const size_t first = at - std::min(at, kHalvesApart);
    const size_t end = std::min(block_.size() - kWord, at + kHalvesApart);
    for (size_t low = first; low <= end; low += kWord) {
      const auto lower = ReadAt<uint32_t>(&block_[low]);
      if (low != at && lower >= kSmall && !InAddress(low)) Name(upper | lower);
    }
  }
  // Whether the word is part of a slot that holds an address.
  bool InAddress(size_t at) const {
    const size_t slot = at / kSlot * kSlot;
    return slot + kSlot <= block_.size() && world_.arenas.Has(ReadAt<uint64_t>(&block_[slot]));
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
  const absl::Span<const Touch> named_;
  const EncodedAddresses::World& world_;
  EncodedSearch& search_;
  EncodedAddresses& found_;
  bool looked_up_ = false;
  size_t next_ = 0;  // Of what is named: the first that no slot has shown.
  size_t last_ = 0;  // The allocation that was asked for last.
  // How many zeros addresses of the arenas begin with.
  int fewest_zeros_ = 0, most_zeros_ = 64;
};

void EncodedSearch::Find(absl::Span<const char> block, absl::Span<const Touch> named,
                         const EncodedAddresses::World& world, EncodedAddresses* found) {
  Run run(block, named, world, this, found);
  run.Named();
  run.Block();
  run.Distances();
}

}  // namespace vramspan
