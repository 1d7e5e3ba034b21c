// The search for addresses in other forms against a plain one that tries every form at every place:
// the same answers, over random blocks, arenas and what lives in them. And each form decides some.
#include "runtime/observe/encoded_search.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace vramspan {
namespace {

enum Form { kAsItIs, kInFrontOf, kTagged, kShiftedRight, kHalves, kDistances, kForms };

using Live = std::map<uint64_t, uint64_t>;  // Sizes by base.

template <typename T>
T At(const std::vector<char>& block, size_t at) {
  T value;
  std::memcpy(&value, &block[at], sizeof(value));
  return value;
}

// The plain search, which knows all forms but one.
class Plain {
 public:
  Plain(const std::vector<char>& block, const std::vector<Touch>& named,
        const EncodedAddresses::World& world, int without = kForms)
      : block_(block), named_(named), world_(world), without_(without) {}

  EncodedAddresses Find() {
    for (const Touch& touch : named_) {
      const Extent extent = world_.allocation(touch.ptr);
      if (extent.size.value != 0) known_.insert(extent.base.value);
    }
    for (const Touch& touch : named_) {
      if (touch.size.value == 0) InFrontOf(touch.ptr.value);
    }
    for (size_t at = 0; at + 8 <= block_.size(); ++at) {
      const auto value = At<uint64_t>(block_, at);
      InFrontOf(value);
      Near(kAsItIs, value);
      if (value >> 48 != 0) Near(kTagged, value & 0xffff'ffff'ffff);
      for (int shift = 4; at % 4 == 0 && shift <= 12; ++shift) {
        if (value >> (64 - shift) == 0) Near(kShiftedRight, value << shift);
      }
    }
    for (size_t at = 0; at + 4 <= block_.size(); at += 4) Upper(at);
    Distances();
    return found_;
  }

 private:
  void Name(Form form, uint64_t address) {
    if (form == without_) return;
    const Extent extent = world_.allocation(DevicePtr(address));
    if (extent.size <= world_.never_moves || known_.contains(extent.base.value)) return;
    if (found_.possible.size() == EncodedAddresses::kMost) {
      found_.anywhere = true;
      return;
    }
    known_.insert(extent.base.value);
    found_.possible.emplace_back(address);
  }
  void Near(Form form, uint64_t address) {
    if (world_.arenas.Near(address)) Name(form, address);
  }
  void InFrontOf(uint64_t value) {
    if (value % 256 != 0) Near(kInFrontOf, value + 65536);
  }
  bool InAddress(size_t at) {
    at = at / 8 * 8;
    return at + 8 <= block_.size() && world_.arenas.Has(At<uint64_t>(block_, at));
  }
  void Upper(size_t at) {
    const uint64_t upper = uint64_t{At<uint32_t>(block_, at)} << 32;
    if (!world_.arenas.NearAny(upper, uint64_t{1} << 32) || InAddress(at)) return;
    for (size_t low = 0; low + 4 <= block_.size(); low += 4) {
      if (low == at || low + 16 < at || low > at + 16 || InAddress(low)) continue;
      const auto lower = At<uint32_t>(block_, low);
      if (lower >= 65536) Name(kHalves, upper | lower);
    }
  }
  void Distances() {
    std::set<int64_t> numbers;
    for (size_t at = 0; at + 8 <= block_.size(); at += 8) {
      const auto number = At<int64_t>(block_, at);
      if (number < 0 && number > -(int64_t{1} << 47)) numbers.insert(number);
    }
    std::vector<std::pair<uint64_t, Extent>> pointers;
    for (const Touch& touch : named_) {
      const Extent extent = world_.allocation(touch.ptr);
      if (touch.via == Via::kCall && touch.size.value == 0 && extent.size.value != 0)
        pointers.emplace_back(touch.ptr.value, extent);
    }
    if (pointers.size() * numbers.size() > EncodedAddresses::kMostPairs) {
      found_.anywhere = true;
      return;
    }
    for (const auto& [p, extent] : pointers) {
      for (const int64_t number : numbers) {
        for (const int64_t element : {1, 2, 4, 8, 16}) {
          const uint64_t at = p + static_cast<uint64_t>(number * element);
          if (-(number * element) <= static_cast<int64_t>(p - extent.base.value)) continue;
          if (!world_.arenas.Near(at)) continue;
          if (world_.allocation(DevicePtr(at)).base.value == at) Name(kDistances, at);
        }
      }
    }
  }

  const std::vector<char>& block_;
  const std::vector<Touch>& named_;
  const EncodedAddresses::World& world_;
  const int without_;
  std::set<uint64_t> known_;
  EncodedAddresses found_;
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(engine_); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // Of all magnitudes.
  uint64_t Any() { return Below(~uint64_t{0}) >> Below(64); }

 private:
  std::mt19937_64 engine_;
};

// A world and a block, with addresses of all forms among numbers.
struct Case {
  explicit Case(uint32_t seed) : random(seed), arenas(MakeArenas()) {
    block.resize(random.OneIn(8) ? random.Below(24) : random.Below(1200));
    Fill();
    if (random.OneIn(50)) PlantMany();
    for (uint64_t planted = random.Below(5); planted != 0 && block.size() >= 8; --planted) Plant();
    Name();
  }

  EncodedAddresses::World world() const { return {arenas, never_moves, allocation}; }

  ArenaSet MakeArenas() {
    // As the runtime's are, low, high, or next to a power of two.
    constexpr uint64_t kBases[] = {0x3A6B'0000'0000,
                                   0x2D57'0000'0000,
                                   uint64_t{1} << 40,
                                   0x7f31'0000'0000,
                                   (uint64_t{1} << 45) - (uint64_t{1} << 31),
                                   0x1234'0000'0000,
                                   0x10000,
                                   0xfffe'0000'0000,
                                   0,
                                   uint64_t{1} << 52,
                                   0x200'0000};
    std::vector<ArenaSet::Range> ranges;
    for (uint64_t count = random.OneIn(6) ? random.Below(3) : 1; count != 0; --count) {
      const uint64_t base = kBases[random.OneIn(3) ? random.Below(std::size(kBases)) : 0];
      ranges.push_back(
          {base + random.Below(4) * (uint64_t{1} << 34), uint64_t{1} << (28 + random.Below(15))});
    }
    for (const ArenaSet::Range& range : ranges) {
      const uint64_t arrays = random.Below(random.OneIn(30) ? 200 : 12);
      uint64_t at = range.base;
      for (uint64_t i = 0; i < arrays; ++i) {
        at += random.Below(4) << 21;
        const uint64_t size = (1 + random.Below(12)) << 20;
        // Ranges may overlap; arrays do not.
        const auto behind = live.lower_bound(at);
        if (behind != live.end() && behind->first - at < size) break;
        if (Holds(at).size.value != 0) break;
        live[at] = size;
        at += size;
      }
    }
    return ArenaSet(ranges);
  }
  Extent Holds(uint64_t p) const {
    auto it = live.upper_bound(p);
    if (it == live.begin()) return {};
    --it;
    return p - it->first < it->second ? Extent{DevicePtr(it->first), Bytes(it->second)} : Extent{};
  }
  uint64_t AnAddress() {
    if (live.empty() || random.OneIn(8)) return arenas.low() + random.Below(arenas.span() + 1);
    auto it = live.begin();
    std::advance(it, static_cast<ptrdiff_t>(random.Below(live.size())));
    return it->first + (random.OneIn(2) ? 0 : random.Below(it->second) & ~uint64_t{15});
  }
  template <typename T>
  void Put(size_t at, T value) {
    if (at < block.size() && sizeof(value) <= block.size() - at) {
      std::memcpy(&block[at], &value, sizeof(value));
    }
  }

  void Fill() {
    const uint64_t pointers = random.Below(6), small = random.Below(3);
    for (size_t at = 0; at + 4 <= block.size(); at += 4) {
      if (at % 8 == 0 && random.Below(12) < pointers) {
        Put(at, AnAddress());
        at += 4;
      } else if (small != 0) {
        Put(at, static_cast<uint32_t>(small == 1 ? random.Below(1000) : random.Any()));
      }
    }
  }
  // An address in another form; the form decides for little else that is tried.
  void Plant() {
    const size_t at = random.Below(block.size() - 7), word = at / 4 * 4;
    const uint64_t address = AnAddress();
    switch (random.Below(8)) {
      case 0:
        return Put(at, address);
      case 1:
        return Put(random.OneIn(2) ? at / 8 * 8 : at, address - random.Below(70000));
      case 2:
        return Put(at, address | random.Below(65536) << 48);
      case 3:
        return Put(word, address >> (2 + random.Below(13)));
      case 4:
        Put(word, static_cast<uint32_t>(address));
        return Put(random.OneIn(2) ? word + 4 * random.Below(6) : word - 4 * random.Below(6),
                   static_cast<uint32_t>(address >> 32));
      case 5:
        return Put(at / 8 * 8, static_cast<int64_t>(address - AnAddress()) >> random.Below(5));
      case 6:
        return PlantDistance();
      default:
        return Put(at, random.Any());
    }
  }
  // From a pointer of the block to where an array in front of it begins.
  void PlantDistance() {
    const size_t from = random.Below(block.size() - 7) / 8 * 8;
    const auto pointer = At<uint64_t>(block, from);
    if (!arenas.Has(pointer) || live.empty()) return;
    auto to = live.begin();
    std::advance(to, static_cast<ptrdiff_t>(random.Below(live.size())));
    if (to->first >= pointer) return;
    const auto distance = -static_cast<int64_t>(pointer - to->first);
    Put(random.Below(block.size() - 7) / 8 * 8, distance / (1 << random.Below(5)));
  }
  // In front of more arrays than are told apart.
  void PlantMany() {
    size_t at = 0;
    for (const auto& [base, size] : live) {
      Put(at, base - 8);
      at += 8;
    }
  }
  // As the slots show it, or not quite.
  void Name() {
    for (size_t at = 0; at + 8 <= block.size(); at += 8) {
      const auto value = At<uint64_t>(block, at);
      if (!arenas.Has(value) || random.OneIn(40)) continue;
      named.push_back({.ptr = DevicePtr(value), .linear = false});
      if (random.OneIn(20)) named.back().size = Bytes(1);
      if (random.OneIn(20)) named.back().via = Via::kTable;
      if (random.OneIn(30)) named.push_back({.ptr = DevicePtr(AnAddress()), .linear = false});
    }
  }

  Random random;
  Live live;
  const ArenaSet arenas;
  std::vector<char> block;
  std::vector<Touch> named;
  const Bytes never_moves = MiB(random.Below(3));
  // The kind that World takes: good while this lives.
  const std::function<Extent(DevicePtr)> allocation = [this](DevicePtr p) {
    return Holds(p.value);
  };
};

std::string Text(const EncodedAddresses& found) {
  std::string text = found.anywhere ? "anywhere" : "";
  for (const DevicePtr p : found.possible) text += " " + std::to_string(p.value);
  return text;
}

TEST(EncodedSearch, FindsWhatThePlainSearchFinds) {
  EncodedSearch search;
  EncodedAddresses found;
  size_t some = 0, anywhere = 0, decides[kForms] = {};
  for (uint32_t seed = 0; seed < 20000; ++seed) {
    const Case c(seed);
    const EncodedAddresses::World world = c.world();
    const EncodedAddresses expected = Plain(c.block, c.named, world).Find();
    search.Find(c.block, c.named, world, &found);
    ASSERT_EQ(Text(found), Text(expected)) << seed;
    some += expected.any();
    anywhere += expected.anywhere;
    if (!expected.any()) continue;
    for (int form = 0; form < kForms; ++form) {
      decides[form] += Text(Plain(c.block, c.named, world, form).Find()) != Text(expected);
    }
  }
  EXPECT_GT(some, 2000);
  EXPECT_LT(some, 18000);
  EXPECT_GT(anywhere, 0);
  for (int form = 0; form < kForms; ++form) EXPECT_GT(decides[form], 30) << form;
}

// Wherever the place is in a block of whatever size, its last bytes too.
TEST(EncodedSearch, NoPlaceIsLeftOut) {
  constexpr uint64_t kBase = 0x3A6B'0000'0000, kThere = kBase + (uint64_t{3} << 24);
  const ArenaSet arenas({{kBase, uint64_t{1} << 42}});
  const auto allocation = [](DevicePtr p) {
    return p.value - kThere < MiB(16).value ? Extent{DevicePtr(kThere), MiB(16)} : Extent{};
  };
  EncodedSearch search;
  EncodedAddresses found;
  const auto finds = [&](const std::vector<char>& block) {
    search.Find(block, {}, {arenas, MiB(1), allocation}, &found);
    return found.possible.size() == 1;
  };
  const std::vector<size_t> sizes = {8,  9,  15, 16, 22,   23,   24,  30,
                                     31, 32, 39, 40, 1040, 1047, 1060};
  for (const size_t size : sizes) {
    for (size_t at = 0; at + 8 <= size; ++at) {
      std::vector<char> block(size);
      const uint64_t address = kThere + 0x123456;
      std::memcpy(&block[at], &address, sizeof(address));
      EXPECT_TRUE(finds(block)) << size << " " << at;
      const uint64_t tagged = address | uint64_t{0xabcd} << 48;
      std::memcpy(&block[at], &tagged, sizeof(tagged));
      EXPECT_TRUE(finds(block)) << size << " " << at;
      if (at % 4 != 0) continue;
      for (int shift = 4; shift <= 12; ++shift) {
        const uint64_t shifted = address >> shift;
        std::memcpy(&block[at], &shifted, sizeof(shifted));
        EXPECT_TRUE(finds(block)) << size << " " << at << " " << shift;
      }
    }
  }
}

}  // namespace
}  // namespace vramspan
