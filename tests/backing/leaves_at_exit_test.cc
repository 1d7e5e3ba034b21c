#include "runtime/backing/leaves_at_exit.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

namespace vramspan {
namespace {

// Somebody cancels the thread that ends the process while this leaves.
class Cancelled final : private LeavesAtExit {
 public:
  Cancelled() { Joined(); }
  ~Cancelled() override { Gone(); }

 private:
  void LeaveAtExit() override {
    pthread_cancel(pthread_self());
    pthread_testcancel();
    std::fprintf(stderr, "has left\n");
  }
};

TEST(LeavesAtExitDeathTest, WhoIsCancelledThenLeavesAllTheSame) {
  EXPECT_EXIT(
      {
        const auto* const never_destroyed = new Cancelled;
        static_cast<void>(never_destroyed);
        std::exit(3);
      },
      ::testing::ExitedWithCode(3), "has left");
}

}  // namespace
}  // namespace vramspan
