// Who ends something waits for those who may use it, and for nobody who came later.
#include "runtime/base/presence.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace vramspan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Presence, IsWaitedFor) {
  Presence presence;
  EXPECT_TRUE(presence.AwaitLeft(milliseconds(0)));
  const Presence::Side side = presence.Enter();
  EXPECT_FALSE(presence.AwaitLeft(milliseconds(2)));
  EXPECT_FALSE(presence.AwaitLeft(milliseconds(2))) << "again";
  presence.Leave(side);
  EXPECT_TRUE(presence.AwaitLeft(milliseconds(0)));
}

TEST(Presence, OfLaterOnesIsNot) {
  Presence presence;
  const Presence::Side first = presence.Enter();
  std::atomic<bool> waits{false}, left{false};
  std::thread waiter([&] {
    waits = true;
    EXPECT_TRUE(presence.AwaitLeft(seconds(20)));
    left = true;
  });
  while (!waits) std::this_thread::yield();
  // There is always somebody inside until the waiter has seen that the first has left.
  Presence::Side inside = presence.Enter();
  presence.Leave(first);
  while (!left) {
    const Presence::Side next = presence.Enter();
    presence.Leave(inside);
    inside = next;
  }
  presence.Leave(inside);
  waiter.join();
}

// A pointer is taken out of sight, and what it led to ends, while others read it all the time.
TEST(Presence, KeepsWhatIsUsed) {
  struct Thing {
    ~Thing() { value = -1; }
    std::atomic<int> value{7};
  };
  Presence presence;
  std::atomic<Thing*> shown{nullptr};
  std::atomic<bool> stop{false};
  std::vector<std::thread> users;
  for (int i = 0; i < 3; ++i) {
    users.emplace_back([&] {
      while (!stop) {
        const Presence::Side side = presence.Enter();
        const Thing* const thing = shown.load(std::memory_order_acquire);
        if (thing != nullptr) {
          EXPECT_EQ(thing->value.load(), 7);
        }
        presence.Leave(side);
      }
    });
  }
  for (int lap = 0; lap < 300; ++lap) {
    auto thing = std::make_unique<Thing>();
    shown.store(thing.get(), std::memory_order_seq_cst);
    std::this_thread::yield();
    shown.store(nullptr, std::memory_order_seq_cst);
    ASSERT_TRUE(presence.AwaitLeft(seconds(20)));
  }
  stop = true;
  for (std::thread& user : users) user.join();
}

}  // namespace
}  // namespace vramspan
