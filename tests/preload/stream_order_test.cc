// Which frees a stream comes behind.
#include "runtime/preload/stream_order.h"

#include <gtest/gtest.h>

namespace vramspan::preload {
namespace {

constexpr uint64_t kA = 1, kB = 2, kC = 3;

StreamOrder::Event EventOf(const int& event) { return &event; }

TEST(StreamOrderTest, FollowsWhatWasFreedBeforeTheEvent) {
  const int event = 0;
  StreamOrder order;
  const uint64_t first = order.Freed(kA);
  order.Recorded(EventOf(event), kA);
  const uint64_t second = order.Freed(kA);
  EXPECT_FALSE(order.IsBehind(kB, kA, first));
  order.Waits(kB, EventOf(event));
  EXPECT_TRUE(order.IsBehind(kB, kA, first));
  EXPECT_FALSE(order.IsBehind(kB, kA, second));
  EXPECT_FALSE(order.IsBehind(kC, kA, first));
}

TEST(StreamOrderTest, FollowsFromStreamToStream) {
  const int first = 0, second = 0;
  StreamOrder order;
  const uint64_t free = order.Freed(kA);
  order.Recorded(EventOf(first), kA);
  order.Waits(kB, EventOf(first));
  order.Recorded(EventOf(second), kB);
  order.Waits(kC, EventOf(second));
  EXPECT_TRUE(order.IsBehind(kC, kA, free));
}

TEST(StreamOrderTest, GoesByTheLastRecordOfAnEvent) {
  const int event = 0;
  StreamOrder order;
  const uint64_t free = order.Freed(kA);
  order.Recorded(EventOf(event), kA);
  order.Recorded(EventOf(event), kC);
  order.Waits(kB, EventOf(event));
  EXPECT_FALSE(order.IsBehind(kB, kA, free));
}

// A handle comes again, and nobody has recorded the new event: to wait for it is nothing.
TEST(StreamOrderTest, KnowsNothingOfAnEventThatWasDestroyed) {
  const int event = 0;
  StreamOrder order;
  const uint64_t free = order.Freed(kA);
  order.Recorded(EventOf(event), kA);
  order.Destroyed(EventOf(event));
  order.Waits(kB, EventOf(event));
  EXPECT_FALSE(order.IsBehind(kB, kA, free));
}

TEST(StreamOrderTest, ForgetsAndCountsOn) {
  const int event = 0;
  StreamOrder order;
  const uint64_t free = order.Freed(kA);
  order.Recorded(EventOf(event), kA);
  order.Forget();
  order.Waits(kB, EventOf(event));
  EXPECT_FALSE(order.IsBehind(kB, kA, free));
  EXPECT_GT(order.Freed(kA), free);
}

TEST(StreamOrderTest, IsBounded) {
  std::vector<int> events(2 * StreamOrder::kMostEvents);
  StreamOrder order;
  for (uint64_t i = 0; i < events.size(); ++i) {
    const uint64_t stream = 10 + i;
    const uint64_t free = order.Freed(stream);
    order.Recorded(EventOf(events[i]), stream);
    order.Waits(kB, EventOf(events[i]));
    // Of the streams that were known before some may have been forgotten, never of others learnt.
    EXPECT_FALSE(order.IsBehind(kC, stream, free));
    EXPECT_FALSE(order.IsBehind(kB, stream, free + 1));
  }
  const uint64_t free = order.Freed(kA);
  order.Forget();
  EXPECT_FALSE(order.IsBehind(kA, kA, free));
}

}  // namespace
}  // namespace vramspan::preload
