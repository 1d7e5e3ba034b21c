// Threads have numbers that never come again, and tell when they end.
#include "runtime/base/thread_number.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "runtime/base/thread_end.h"

namespace vramspan {
namespace {

class Counts : public ThreadEnd::Listener {
 public:
  void ThreadEnds() override {
    ++ends;
    by = ThreadNumber::Mine();
  }
  std::atomic<int> ends{0};
  std::atomic<uint64_t> by{0};
};

TEST(ThreadNumber, NeverComesAgain) {
  std::set<uint64_t> numbers{ThreadNumber::Mine()};
  std::set<std::thread::id> ids{std::this_thread::get_id()};
  for (int i = 0; i < 100; ++i) {
    std::thread thread([&] {
      EXPECT_TRUE(numbers.insert(ThreadNumber::Mine()).second);
      EXPECT_FALSE(numbers.insert(ThreadNumber::Mine()).second) << "one for each thread";
    });
    ids.insert(thread.get_id());
    thread.join();
  }
  EXPECT_EQ(numbers.size(), 101u);
  EXPECT_EQ(numbers.count(0), 0u);
  EXPECT_LT(ids.size(), numbers.size()) << "ids do";
}

TEST(ThreadEnd, IsToldOnceOnTheThread) {
  const auto counts = std::make_shared<Counts>();
  uint64_t number = 0;
  std::thread([&] {
    ThreadEnd::Tell(counts);
    ThreadEnd::Tell(counts);
    number = ThreadNumber::Mine();
    EXPECT_EQ(counts->ends, 0);
    EXPECT_FALSE(ThreadEnd::Told());
  }).join();
  EXPECT_EQ(counts->ends, 1);
  EXPECT_EQ(counts->by, number);
}

TEST(ThreadEnd, IsNotToldToWhatIsGone) {
  auto gone = std::make_shared<Counts>();
  const auto stays = std::make_shared<Counts>();
  std::thread([&] {
    ThreadEnd::Tell(gone);
    gone.reset();
    ThreadEnd::Tell(stays);
  }).join();
  EXPECT_EQ(stays->ends, 1);
}

// Destructors of pthread keys come after it, and find that it has been told.
TEST(ThreadEnd, ComesBeforeTheKeys) {
  static int ends_by_then = -1;
  static std::shared_ptr<Counts> counts;
  counts = std::make_shared<Counts>();
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key,
                               [](void*) {
                                 ends_by_then = counts->ends;
                                 EXPECT_TRUE(ThreadEnd::Told());
                                 ThreadEnd::Tell(counts);
                               }),
            0);
  std::thread([&] {
    EXPECT_EQ(pthread_setspecific(key, &key), 0);
    ThreadEnd::Tell(counts);
  }).join();
  EXPECT_EQ(ends_by_then, 1);
  EXPECT_EQ(counts->ends, 1);
  EXPECT_EQ(pthread_key_delete(key), 0);
  counts.reset();
}

}  // namespace
}  // namespace vramspan
