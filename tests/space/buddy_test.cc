#include "runtime/space/buddy.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vramspan {
namespace {

TEST(Buddy, OrdersFitTheirSizes) {
  EXPECT_EQ(Buddy::OrderFor(Bytes(1)), 0);
  EXPECT_EQ(Buddy::OrderFor(KiB(64)), 0);
  EXPECT_EQ(Buddy::OrderFor(KiB(64) + Bytes(1)), 1);
  EXPECT_EQ(Buddy::OrderFor(KiB(192)), 2);
  EXPECT_EQ(Buddy::OrderFor(MiB(1)), 4);
  EXPECT_EQ(Buddy::OrderFor(MiB(2)), 5);
}

TEST(Buddy, SplitsAndMerges) {
  Buddy buddy;
  EXPECT_TRUE(buddy.empty());
  EXPECT_EQ(buddy.Take(0), 0);
  EXPECT_EQ(buddy.LargestOrder(), 4);
  EXPECT_EQ(buddy.Take(0), 1);
  EXPECT_EQ(buddy.Take(2), 4);
  EXPECT_EQ(buddy.Take(4), 16);
  EXPECT_EQ(buddy.LargestOrder(), 3);
  buddy.Give(1, 0);
  buddy.Give(16, 4);
  buddy.Give(4, 2);
  EXPECT_FALSE(buddy.empty());
  buddy.Give(0, 0);
  EXPECT_TRUE(buddy.empty());
}

TEST(Buddy, BlocksNeverOverlapAndAllComesBack) {
  for (int seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Buddy buddy;
    uint32_t used = 0;
    std::vector<std::pair<int, int>> taken;
    for (int i = 0; i < 2'000; ++i) {
      const int order = random() % Buddy::kOrders;
      if (random() % 2 == 0 && order <= buddy.LargestOrder()) {
        const int block = buddy.Take(order);
        const uint32_t mask = static_cast<uint32_t>(((uint64_t{1} << (1 << order)) - 1) << block);
        ASSERT_EQ(block % (1 << order), 0);
        ASSERT_EQ(used & mask, 0u);
        used |= mask;
        taken.emplace_back(block, order);
      } else if (!taken.empty()) {
        std::swap(taken[random() % taken.size()], taken.back());
        const auto [block, order_taken] = taken.back();
        taken.pop_back();
        used &= ~static_cast<uint32_t>(((uint64_t{1} << (1 << order_taken)) - 1) << block);
        buddy.Give(block, order_taken);
      }
      ASSERT_EQ(buddy.empty(), used == 0);
    }
    for (const auto& [block, order] : taken) buddy.Give(block, order);
    ASSERT_TRUE(buddy.empty());
  }
}

}  // namespace
}  // namespace vramspan
