// What takes another's place: chunks that are clearly hotter, never equals by turns.
#include "runtime/placement/in_place.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace vramspan {
namespace {

constexpr Bytes kPlacedChunk = MiB(16);

class PlaceMeritTest : public testing::Test {
 protected:
  // A launch that names the chunk. True: it was on the host, and took the place of the coldest.
  bool Launch(ChunkIndex chunk) {
    bool moved = false;
    if (!device_.contains(chunk.value)) {
      const auto coldest = [this](PlaceMerit::Take take) { take(Coldest(), kPlacedChunk); };
      PlaceMerit merit(heat_, Bytes(0), coldest);
      moved = merit.Worth(chunk, kPlacedChunk);
      if (moved) {
        device_.erase(Coldest().value);
        device_.insert(chunk.value);
      }
    }
    heat_.Use(chunk, kPlacedChunk, kPlacedChunk);
    return moved;
  }
  ChunkIndex Coldest() const {
    uint32_t coldest = *device_.begin();
    for (const uint32_t id : device_) {
      if (heat_.Of(ChunkIndex(id)) < heat_.Of(ChunkIndex(coldest))) coldest = id;
    }
    return ChunkIndex(coldest);
  }

  Heat heat_{kPlacedChunk * 4};
  std::set<uint32_t> device_ = {1, 2, 3, 4};
};

TEST_F(PlaceMeritTest, EqualsDoNotTakeTurns) {
  for (int lap = 0; lap < 200; ++lap) {
    for (uint32_t id = 1; id <= 8; ++id) EXPECT_FALSE(Launch(ChunkIndex(id))) << id << ", " << lap;
  }
}

TEST_F(PlaceMeritTest, WhatIsClearlyHotterTakesAPlaceAndKeepsIt) {
  int moves = 0;
  for (int lap = 0; lap < 50; ++lap) {
    for (uint32_t id = 1; id <= 4; ++id) moves += Launch(ChunkIndex(id));
    for (int i = 0; i < 8; ++i) moves += Launch(ChunkIndex(9));
  }
  EXPECT_EQ(moves, 1);
  EXPECT_TRUE(device_.contains(9));
}

TEST_F(PlaceMeritTest, RoomIsForAnyone) {
  const auto none = [](PlaceMerit::Take) {};
  PlaceMerit merit(heat_, kPlacedChunk, none);
  EXPECT_TRUE(merit.Worth(ChunkIndex(20), kPlacedChunk));
  EXPECT_FALSE(merit.Worth(ChunkIndex(21), kPlacedChunk)) << "it is taken";
}

// Chunks of several sizes that are on the device, the first to leave first.
class PlaceMeritOfSizesTest : public testing::Test {
 protected:
  void OnDevice(uint32_t id, Bytes size, int uses) {
    device_.push_back({ChunkIndex(id), size});
    Use(id, uses);
  }
  void Use(uint32_t id, int uses) {
    for (int i = 0; i < uses; ++i) heat_.Use(ChunkIndex(id), Bytes(1), Bytes(1));
  }
  PlaceMerit::OfferVictims Offer() { return offer_; }

  Heat heat_{GiB(1)};
  std::vector<std::pair<ChunkIndex, Bytes>> device_;
  const std::function<void(PlaceMerit::Take)> offer_ = [this](PlaceMerit::Take take) {
    for (const auto& [chunk, size] : device_) {
      if (take(chunk, size)) return;
    }
  };
};

TEST_F(PlaceMeritOfSizesTest, WhatLeavesIsWhatIsLargeEnough) {
  OnDevice(1, MiB(4), 0);
  OnDevice(2, kPlacedChunk, 5);
  Use(9, 6);
  EXPECT_FALSE(PlaceMerit(heat_, MiB(2), Offer()).Worth(ChunkIndex(9), kPlacedChunk))
      << "the cold one has no room for it, and the other is as hot";
  EXPECT_TRUE(PlaceMerit(heat_, kPlacedChunk - MiB(3), Offer()).Worth(ChunkIndex(9), kPlacedChunk))
      << "with the cold one's there is room";
}

TEST_F(PlaceMeritOfSizesTest, ManySmallOnesMayLeave) {
  for (uint32_t id = 1; id <= 4; ++id) OnDevice(id, MiB(4), 0);
  Use(9, 3);
  PlaceMerit merit(heat_, Bytes(0), Offer());
  EXPECT_TRUE(merit.Worth(ChunkIndex(9), kPlacedChunk));
  Use(10, 3);
  EXPECT_FALSE(merit.Worth(ChunkIndex(10), MiB(2))) << "they have left";
}

TEST_F(PlaceMeritOfSizesTest, OneOfThemThatIsHotStays) {
  for (uint32_t id = 1; id <= 4; ++id) OnDevice(id, MiB(4), id == 3 ? 2 : 0);
  Use(9, 3);
  PlaceMerit merit(heat_, Bytes(0), Offer());
  EXPECT_FALSE(merit.Worth(ChunkIndex(9), kPlacedChunk));
  EXPECT_TRUE(merit.Worth(ChunkIndex(9), MiB(8))) << "for less the cold ones do";
}

TEST_F(PlaceMeritOfSizesTest, RoomLeftOverIsForTheNext) {
  OnDevice(1, kPlacedChunk, 0);
  Use(9, 3);
  PlaceMerit merit(heat_, Bytes(0), Offer());
  EXPECT_TRUE(merit.Worth(ChunkIndex(9), kPlacedChunk - MiB(2)));
  EXPECT_TRUE(merit.Worth(ChunkIndex(10), MiB(2))) << "though it is cold";
}

}  // namespace
}  // namespace vramspan
