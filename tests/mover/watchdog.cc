#include "tests/mover/watchdog.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace vramspan_test {

Watchdog::Watchdog(std::string what, int seconds)
    : what_(std::move(what)), thread_([this, seconds] { Watch(seconds); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(mu_);
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Watchdog::Doing(std::string step) {
  const std::lock_guard<std::mutex> lock(mu_);
  step_ = std::move(step);
}

void Watchdog::Watch(int seconds) {
  std::unique_lock<std::mutex> lock(mu_);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  if (wake_.wait_until(lock, until, [this] { return done_; })) return;
  std::fprintf(stderr, "watchdog: %s has not ended within %d s%s%s\n", what_.c_str(), seconds,
               step_.empty() ? "" : ", while: ", step_.c_str());
  std::abort();
}

}  // namespace vramspan_test
