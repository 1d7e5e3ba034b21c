// What comes back though nothing asked for it.
#include "runtime/scheduler/idle_fetches.h"

#include <gtest/gtest.h>

#include "runtime/placement/move_limits.h"
#include "tests/scheduler/few_chunks.h"

namespace vramspan {
namespace {

Instant AtMilli(int64_t ms) { return Instant(std::chrono::milliseconds(ms)); }

class IdleFetchesTest : public ::testing::Test {
 protected:
  IdleFetchesTest() {
    for (uint32_t i = 1; i <= 6; ++i) {
      for (uint32_t uses = 0; uses < i; ++uses) {
        heat_.Use(ChunkIndex(i), MiB(16), MiB(16));
      }
    }
  }
  std::vector<uint32_t> Look(int64_t ms, Bytes room) {
    std::vector<ChunkIndex> fetch;
    fetches_.Add(chunks_.residency(), heat_, room, AtMilli(ms), &fetch);
    std::vector<uint32_t> found;
    for (const ChunkIndex c : fetch) found.push_back(c.value);
    return found;
  }

  FewChunks chunks_{6};
  Heat heat_{GiB(1)};
  IdleFetches fetches_;
};

TEST_F(IdleFetchesTest, BringTheHottestBackAsFarAsThereIsRoom) {
  EXPECT_TRUE(Look(100, GiB(1)).empty())
      << "nothing has gone, so there is no more room than there was";
  fetches_.LookAgain();
  EXPECT_EQ(Look(100, MiB(40)), (std::vector<uint32_t>{6, 5}));
}

TEST_F(IdleFetchesTest, LookNowAndThen) {
  fetches_.LookAgain();
  EXPECT_FALSE(Look(100, MiB(16)).empty());
  EXPECT_TRUE(fetches_.due()) << "there may be more";
  EXPECT_EQ(fetches_.not_before(), AtMilli(105));
  EXPECT_TRUE(Look(104, MiB(16)).empty());
  EXPECT_FALSE(Look(105, MiB(16)).empty());
  EXPECT_TRUE(Look(110, Bytes(0)).empty());
  EXPECT_FALSE(fetches_.due()) << "until something goes";
}

TEST_F(IdleFetchesTest, PassByWhatIsBusyBarredColdOrBetterServedWhereItLies) {
  chunks_.Fetch(6);
  chunks_[5].in_flight = 1;
  chunks_.Moves(4);
  chunks_[3].advice = Advice::kPreferHost;
  chunks_[2].dying = true;
  fetches_.LookAgain();
  EXPECT_EQ(Look(100, GiB(1)), (std::vector<uint32_t>{1}));
  heat_.Bar(ChunkIndex(1));
  fetches_.LookAgain();
  EXPECT_TRUE(Look(200, GiB(1)).empty());
}

TEST_F(IdleFetchesTest, TakeASmallerOneWhereTheHottestHasNoRoom) {
  chunks_[6].log2_size = 26;
  fetches_.LookAgain();
  EXPECT_EQ(Look(100, MiB(32)), (std::vector<uint32_t>{5, 4}));
}

TEST_F(IdleFetchesTest, BringWhatIsColdOnlyWhereThereIsRoomForAll) {
  for (int i = 0; i < 400; ++i) {
    for (uint32_t c = 2; c <= 6; ++c) heat_.Use(ChunkIndex(c), MiB(16), MiB(16));
  }
  fetches_.LookAgain();
  ASSERT_LT(heat_.Of(ChunkIndex(1)), kWarm);
  EXPECT_EQ(Look(100, MiB(95)).size(), 5u);
  EXPECT_EQ(Look(200, MiB(96)).size(), 6u);
}

}  // namespace
}  // namespace vramspan
