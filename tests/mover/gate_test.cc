// The gate by itself: who closes it has it alone, waits for those inside and for nobody else, gives
// up when they stay, and leaves nobody standing outside.
#include "runtime/mover/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/mover/watchdog.h"

namespace vramspan_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using vramspan::Gate;
using Clock = std::chrono::steady_clock;

// A thread that passes the gate and stays inside until it is told to leave.
class Visitor {
 public:
  explicit Visitor(Gate& gate)
      : thread_([this, &gate] {
          gate.Enter();
          inside_ = true;
          inside_.notify_all();
          leave_.wait(false);
          left_ = true;
          gate.Exit();
        }) {}
  ~Visitor() {
    Leave();
    thread_.join();
  }

  void AwaitInside() { inside_.wait(false); }
  bool inside() const { return inside_; }
  bool left() const { return left_; }  // Is about to pass out.
  void Leave() {
    leave_ = true;
    leave_.notify_all();
  }

 private:
  std::atomic<bool> inside_{false}, leave_{false}, left_{false};
  std::thread thread_;
};

TEST(GateTest, AnEmptyGateClosesAtOnce) {
  const Watchdog watchdog("closing an empty gate");
  Gate gate;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(gate.Close(milliseconds(0)));
    gate.Open();
    gate.Enter();
    gate.Exit();
  }
}

TEST(GateTest, CloseWaitsForThoseInside) {
  const Watchdog watchdog("closing a gate with somebody inside");
  Gate gate;
  Visitor visitor(gate);
  visitor.AwaitInside();
  // Too early for the visitor to leave, so it is found inside at least once.
  EXPECT_FALSE(gate.Close(milliseconds(1)));
  std::thread later([&] { visitor.Leave(); });
  ASSERT_TRUE(gate.Close(seconds(20)));
  EXPECT_TRUE(visitor.left());
  gate.Open();
  later.join();
}

TEST(GateTest, NobodyEntersAClosedGate) {
  const Watchdog watchdog("entering a closed gate");
  Gate gate;
  ASSERT_TRUE(gate.Close(seconds(20)));
  Visitor visitor(gate);
  for (const auto until = Clock::now() + milliseconds(20); Clock::now() < until;) {
    ASSERT_FALSE(visitor.inside());
    std::this_thread::yield();
  }
  gate.Open();
  visitor.AwaitInside();
}

TEST(GateTest, CloseGivesUpAtItsDeadlineAndOpensAgain) {
  const Watchdog watchdog("a gate that somebody does not leave");
  Gate gate;
  Visitor stays(gate);
  stays.AwaitInside();
  const auto begin = Clock::now();
  EXPECT_FALSE(gate.Close(milliseconds(30)));
  EXPECT_GE(Clock::now() - begin, milliseconds(30));
  // Open: others pass, on this thread and on a thread that waited meanwhile.
  gate.Enter();
  gate.Exit();
  Visitor next(gate);
  next.AwaitInside();
}

// A thread inside the gate that passes it again cannot lock itself out: whoever closes it waits for
// the outer passage, in vain, and gives up.
TEST(GateTest, PassagesNestUnderACloser) {
  const Watchdog watchdog("passing the gate again inside it");
  Gate gate;
  std::atomic<bool> inside{false}, tried{false};
  std::thread visitor([&] {
    gate.Enter();
    inside = true;
    inside.notify_all();
    while (!tried) {
      gate.Enter();
      gate.Exit();
    }
    gate.Exit();
  });
  inside.wait(false);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(gate.Close(milliseconds(2)));
  tried = true;
  visitor.join();
  EXPECT_TRUE(gate.Close(milliseconds(0))) << "a passage was counted twice";
  gate.Open();
}

TEST(GateTest, ExclusiveExcludes) {
  const Watchdog watchdog("threads that pass a gate that is closed again and again");
  constexpr int kThreads = 4;
  constexpr int kPasses = 5000;
  constexpr int kCloses = 50;
  Gate gate;
  // Not atomic, so that ThreadSanitizer sees it as well: whoever reads or writes it has the gate in
  // one way or the other. Odd while it is closed.
  int closings = 0;
  std::atomic<int> odd{0};
  std::atomic<int> closed{0};
  std::vector<std::thread> visitors;
  for (int i = 0; i < kThreads; ++i) {
    visitors.emplace_back([&] {
      for (int n = 0; n < kPasses || closed < kCloses; ++n) {
        gate.Enter();
        odd += closings % 2;
        gate.Exit();
      }
    });
  }
  while (closed < kCloses) {
    if (!gate.Close(milliseconds(200))) continue;
    ++closings;
    std::this_thread::yield();
    ++closings;
    gate.Open();
    ++closed;
  }
  for (std::thread& v : visitors) v.join();
  EXPECT_EQ(odd, 0) << "somebody was inside a closed gate";
}

// More threads than the gate has slots: they share some, and every one of them counts.
TEST(GateTest, ThreadsThatShareASlotAllCount) {
  const Watchdog watchdog("more threads in the gate than it has slots");
  constexpr size_t kThreads = 140;
  Gate gate;
  std::vector<std::unique_ptr<Visitor>> visitors;
  for (size_t i = 0; i < kThreads; ++i) visitors.push_back(std::make_unique<Visitor>(gate));
  for (auto& v : visitors) v->AwaitInside();
  while (!visitors.empty()) {
    if (visitors.size() % 20 == 1) {
      EXPECT_FALSE(gate.Close(milliseconds(0))) << visitors.size() << " are inside";
    }
    visitors.pop_back();
  }
  EXPECT_TRUE(gate.Close(milliseconds(0)));
  gate.Open();
}

}  // namespace
}  // namespace vramspan_test
