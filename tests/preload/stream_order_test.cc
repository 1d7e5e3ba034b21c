// Which frees a stream comes behind.
#include "runtime/preload/stream_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace vramspan::preload {
namespace {

constexpr uint64_t kA = 1, kB = 2, kC = 3;

class StreamOrderTest : public ::testing::Test {
 protected:
  void Record(const int& event, uint64_t stream) { order_.Recorded(&event, order_.Of(stream)); }
  bool IsBehind(uint64_t stream, uint64_t other, uint64_t free) {
    return StreamOrder::IsBehind(order_.Of(stream), other, free);
  }

  StreamOrder order_;
};

TEST_F(StreamOrderTest, FollowsWhatWasFreedBeforeTheEvent) {
  const int event = 0;
  const uint64_t first = order_.Freed(kA);
  Record(event, kA);
  const uint64_t second = order_.Freed(kA);
  EXPECT_FALSE(IsBehind(kB, kA, first));
  order_.Waits(kB, &event);
  EXPECT_TRUE(IsBehind(kB, kA, first));
  EXPECT_FALSE(IsBehind(kB, kA, second));
  EXPECT_FALSE(IsBehind(kC, kA, first));
}

TEST_F(StreamOrderTest, FollowsFromStreamToStream) {
  const int first = 0, second = 0;
  const uint64_t free = order_.Freed(kA);
  Record(first, kA);
  order_.Waits(kB, &first);
  Record(second, kB);
  order_.Waits(kC, &second);
  EXPECT_TRUE(IsBehind(kC, kA, free));
}

TEST_F(StreamOrderTest, GoesByTheLastRecordOfAnEvent) {
  const int event = 0;
  const uint64_t free = order_.Freed(kA);
  Record(event, kA);
  Record(event, kC);
  order_.Waits(kB, &event);
  EXPECT_FALSE(IsBehind(kB, kA, free));
}

// A handle comes again, and nobody has recorded the new event: to wait for it is nothing.
TEST_F(StreamOrderTest, KnowsNothingOfEventsThatItForgot) {
  const int destroyed = 0, other = 0;
  const uint64_t free = order_.Freed(kA);
  Record(destroyed, kA);
  Record(other, kA);
  order_.Forget(&destroyed);
  order_.Waits(kB, &destroyed);
  EXPECT_FALSE(IsBehind(kB, kA, free));
  order_.ForgetEvents();
  order_.Waits(kB, &other);
  EXPECT_FALSE(IsBehind(kB, kA, free));
  // Streams still know what they did.
  EXPECT_TRUE(IsBehind(kA, kA, free));
}

TEST_F(StreamOrderTest, ForgetsAllAndCountsOn) {
  const int event = 0;
  const uint64_t free = order_.Freed(kA);
  Record(event, kA);
  order_.ForgetAll();
  order_.Waits(kB, &event);
  EXPECT_FALSE(IsBehind(kB, kA, free));
  EXPECT_EQ(order_.events(), 0u);
  EXPECT_EQ(order_.streams(), 0u);
  EXPECT_GT(order_.Freed(kA), free);
}

TEST_F(StreamOrderTest, TellsNoStreamsApartThatItDoesNotKnow) {
  const int event = 0;
  const uint64_t free = order_.Freed(kA);
  order_.Freed(0);
  Record(event, kA);
  order_.Waits(0, &event);
  EXPECT_FALSE(IsBehind(0, kA, free));
  EXPECT_EQ(order_.streams(), 1u);
}

TEST_F(StreamOrderTest, IsBounded) {
  const std::vector<int> events(2 * StreamOrder::kMostEvents);
  for (uint64_t i = 0; i < events.size(); ++i) {
    const uint64_t stream = 10 + i;
    order_.Freed(stream);
    Record(events[i], stream);
    order_.Waits(kB, &events[i]);
    ASSERT_LE(order_.events(), StreamOrder::kMostEvents);
    ASSERT_LE(order_.streams(), StreamOrder::kMostStreams);
    ASSERT_LE(order_.Of(kB).size(), StreamOrder::kMostKnown);
  }
}

}  // namespace
}  // namespace vramspan::preload
