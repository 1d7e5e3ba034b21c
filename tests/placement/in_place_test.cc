// What takes another's place: chunks that are clearly hotter, never equals by turns.
#include "runtime/placement/in_place.h"

#include <gtest/gtest.h>

#include <set>

namespace vramspan {
namespace {

constexpr Bytes kChunk = MiB(16);

class PlaceMeritTest : public testing::Test {
 protected:
  // A launch that names the chunk. True: it was on the host, and took the place of the coldest.
  bool Launch(ChunkIndex chunk) {
    bool moved = false;
    if (!device_.contains(chunk.value)) {
      const auto coldest = [this] { return Coldest(); };
      PlaceMerit merit(heat_, Bytes(0), coldest);
      moved = merit.Worth(chunk, kChunk);
      if (moved) {
        device_.erase(Coldest().value);
        device_.insert(chunk.value);
      }
    }
    heat_.Use(chunk, kChunk);
    return moved;
  }
  ChunkIndex Coldest() const {
    uint32_t coldest = *device_.begin();
    for (const uint32_t id : device_) {
      if (heat_.Of(ChunkIndex(id)) < heat_.Of(ChunkIndex(coldest))) coldest = id;
    }
    return ChunkIndex(coldest);
  }

  Heat heat_{kChunk * 4};
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
  const auto none = [] { return ChunkIndex(); };
  PlaceMerit merit(heat_, kChunk, none);
  EXPECT_TRUE(merit.Worth(ChunkIndex(20), kChunk));
  EXPECT_FALSE(merit.Worth(ChunkIndex(21), kChunk)) << "it is taken";
}

}  // namespace
}  // namespace vramspan
