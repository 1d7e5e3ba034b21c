// Each form of an address in a block of parameters, one by one, and what is taken for none.
#include "runtime/observe/encoded_addresses.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kArena = 0x3A6B'0000'0000;
constexpr Bytes kArenaSize = GiB(64);
constexpr Bytes kArray = MiB(16);

class EncodedAddressesTest : public ::testing::Test {
 public:
  // Arrays in a row, with a hole in front of each.
  static DevicePtr Array(size_t i) { return DevicePtr(kArena) + MiB(32 * i + 16); }
  static uint64_t At(size_t i, uint64_t offset = 0) { return Array(i).value + offset; }

  EncodedAddressesTest() {
    for (size_t i = 0; i < 100; ++i) live_[Array(i)] = kArray;
  }

  template <typename T>
  EncodedAddressesTest& Put(size_t at, T value) {
    block_.resize(std::max(block_.size(), at + sizeof(value)));
    std::memcpy(&block_[at], &value, sizeof(value));
    return *this;
  }
  // The arrays that are found; the slots name what they hold.
  std::vector<size_t> Found() {
    std::vector<Touch> named;
    for (size_t at = 0; at + 8 <= block_.size(); at += 8) {
      uint64_t value;
      std::memcpy(&value, &block_[at], 8);
      if (arenas_.Has(value)) named.push_back({.ptr = DevicePtr(value), .linear = false});
    }
    const auto allocation = [&](DevicePtr p) {
      auto it = live_.upper_bound(p);
      if (it == live_.begin()) return Extent{};
      --it;
      return p < it->first + it->second ? Extent{it->first, it->second} : Extent{};
    };
    const EncodedAddresses found =
        EncodedAddresses::Find(block_, named, {arenas_, MiB(1), allocation});
    anywhere_ = found.anywhere;
    std::vector<size_t> arrays;
    for (const DevicePtr p : found.possible) arrays.push_back((p - DevicePtr(kArena)).value >> 25);
    std::sort(arrays.begin(), arrays.end());
    return arrays;
  }
  bool MayHold() const { return EncodedAddresses::MayHold(block_, arenas_); }

  const ArenaSet arenas_{{{kArena, kArenaSize.value}}};
  std::map<DevicePtr, Bytes> live_;
  std::vector<char> block_;
  bool anywhere_ = false;
};

TEST_F(EncodedAddressesTest, OrdinaryParametersHoldNone) {
  Put(0, At(1)).Put(8, At(2, 4096)).Put(16, 1000).Put(20, 3.5f).Put(24, uint64_t{4096});
  EXPECT_THAT(Found(), IsEmpty());
  EXPECT_FALSE(anywhere_);
  EXPECT_FALSE(MayHold());
}

TEST_F(EncodedAddressesTest, AtAnyByte) {
  for (size_t at = 1; at < 8; ++at) {
    block_.clear();
    Put(at, At(3)).Put(16, 0);
    if (at == 4) continue;  // Its upper half begins a slot: see below.
    EXPECT_THAT(Found(), ElementsAre(3)) << at;
    EXPECT_FALSE(anywhere_) << at;
    EXPECT_TRUE(MayHold()) << at;
  }
}

TEST_F(EncodedAddressesTest, InFrontOfAnArray) {
  for (const uint64_t by : {1, 8, 65535}) {
    block_.clear();
    Put(0, At(3) - by);
    EXPECT_THAT(Found(), ElementsAre(3)) << by;
  }
  block_.clear();
  EXPECT_THAT(Put(0, At(3) - 65537).Found(), IsEmpty());
  // An array may begin there.
  block_.clear();
  EXPECT_THAT(Put(0, At(3) - 512).Found(), IsEmpty());
  // Of arrays without a hole between them: the last bytes of one may mean the next.
  live_[Array(3)] = MiB(32);
  block_.clear();
  EXPECT_THAT(Put(0, At(4) - 8).Found(), ElementsAre(4));
}

TEST_F(EncodedAddressesTest, WithTags) {
  block_.clear();
  EXPECT_THAT(Put(0, At(5) | uint64_t{0xbeef} << 48).Found(), ElementsAre(5));
  block_.clear();
  EXPECT_THAT(Put(0, At(5) | 0xff).Found(), IsEmpty()) << "the slot names it itself";
}

TEST_F(EncodedAddressesTest, Shifted) {
  for (int shift = 1; shift <= 16; ++shift) {
    block_.clear();
    Put(0, At(7) >> shift);
    EXPECT_EQ(Found(), shift >= 4 && shift <= 12 ? std::vector<size_t>{7} : std::vector<size_t>{})
        << shift;
  }
}

TEST_F(EncodedAddressesTest, InHalves) {
  const auto low = static_cast<uint32_t>(At(9)), high = static_cast<uint32_t>(At(9) >> 32);
  // In either order, next to each other and apart; `high` where an address cannot end.
  for (const auto& [low_at, high_at] : std::vector<std::pair<size_t, size_t>>{
           {4, 8}, {0, 8}, {12, 0}, {4, 0}, {4, 16}, {0, 16}, {32, 16}}) {
    block_.clear();
    Put(low_at, low).Put(high_at, high).Put(36, 0);
    EXPECT_THAT(Found(), ElementsAre(9)) << low_at << " " << high_at;
    EXPECT_FALSE(anywhere_);
    EXPECT_TRUE(MayHold());
  }
  block_.clear();
  EXPECT_THAT(Put(0, low).Put(24, high).Put(36, 0).Found(), IsEmpty());
  // Alone, and beside what is a number.
  block_.clear();
  EXPECT_THAT(Put(0, high).Put(4, 4096).Put(8, 0).Found(), IsEmpty());
  EXPECT_FALSE(anywhere_);
}

TEST_F(EncodedAddressesTest, ByItsDistance) {
  for (const int64_t element : {1, 2, 4, 8, 16}) {
    for (const int64_t to : {0, 4, 7}) {
      block_.clear();
      Put(0, At(8)).Put(8, -static_cast<int64_t>(At(8) - At(to)) / element);
      EXPECT_THAT(Found(), ::testing::Contains(to)) << element;
      EXPECT_FALSE(anywhere_);
    }
  }
  // Forwards; within the array; from no pointer; in 4 bytes.
  block_.clear();
  EXPECT_THAT(Put(0, At(8)).Put(8, At(11) - At(8)).Found(), IsEmpty());
  block_.clear();
  EXPECT_THAT(Put(0, At(8, 4096)).Put(8, int64_t{-256}).Found(), IsEmpty());
  block_.clear();
  EXPECT_THAT(Put(8, -(int64_t{1} << 25)).Found(), IsEmpty());
  block_.clear();
  EXPECT_THAT(Put(0, At(8)).Put(8, -(1 << 25)).Put(12, 1.0f).Found(), IsEmpty());
}

TEST_F(EncodedAddressesTest, ArraysThatNeverMoveAreNone) {
  live_[Array(3)] = MiB(1);
  EXPECT_THAT(Put(0, At(3) - 8).Found(), IsEmpty());
  live_.erase(Array(3));
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(EncodedAddressesTest, MoreThanIsKeptMayMeanAnything) {
  for (size_t i = 0; i < EncodedAddresses::kMost + 1; ++i) Put(8 * i, At(i) - 8);
  EXPECT_THAT(Found(), SizeIs(EncodedAddresses::kMost));
  EXPECT_TRUE(anywhere_);
  block_.clear();
  for (size_t i = 0; i < 800; ++i) Put(8 * i, i % 2 == 0 ? At(i / 8) : ~(77 * i));
  Found();
  EXPECT_TRUE(anywhere_);
}

// Random blocks neither crash nor read beyond their end, whatever their size.
TEST_F(EncodedAddressesTest, BlocksOfAnySize) {
  for (size_t size = 0; size < 40; ++size) {
    block_.assign(size, '\x3a');
    Found();
    MayHold();
  }
}

}  // namespace
}  // namespace vramspan
