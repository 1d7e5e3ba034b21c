#include "runtime/base/mutex.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>

#include "runtime/base/thread.h"

namespace {

// The wall clock is that much ahead: what was reckoned from it waits that much longer once it is
// set right.
std::atomic<time_t> wall_clock_ahead{0};

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* time) noexcept {
  static const auto real =
      reinterpret_cast<decltype(&clock_gettime)>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += wall_clock_ahead.load();
  return result;
}

namespace vramspan {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

TEST(CondVar, TheWallClockDoesNotLengthenAWait) {
  Mutex mu;
  CondVar changed;
  wall_clock_ahead.store(5);
  const auto began = Clock::now();
  MutexLock lock(mu);
  EXPECT_FALSE(changed.WaitFor(mu, milliseconds(20)));
  const auto took = Clock::now() - began;
  wall_clock_ahead.store(0);
  EXPECT_GE(took, milliseconds(20));
  EXPECT_LT(took, std::chrono::seconds(4));
}

TEST(CondVar, WakesByNotification) {
  Mutex mu;
  CondVar changed;
  bool ready = false;
  StatusOr<Thread> other = StartThread("notifies", [&] {
    MutexLock lock(mu);
    ready = true;
    changed.NotifyAll();
  });
  ASSERT_TRUE(other.ok()) << other.status();
  MutexLock lock(mu);
  // However long: what does not fit the clock must not wrap around.
  while (!ready) EXPECT_TRUE(changed.WaitFor(mu, std::chrono::nanoseconds::max()));
}

TEST(CondVar, AWaitForNothingEndsAtOnce) {
  Mutex mu;
  CondVar changed;
  MutexLock lock(mu);
  EXPECT_FALSE(changed.WaitFor(mu, milliseconds(-50)));
  EXPECT_FALSE(changed.WaitFor(mu, milliseconds(0)));
}

}  // namespace
}  // namespace vramspan
