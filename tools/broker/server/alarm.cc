#include "tools/broker/server/alarm.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <utility>

#include "tools/broker/server/system_error.h"

namespace vramspan::broker {

Status Alarm::Start(Loop& loop, std::function<void()> ring) {
  timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_) return SystemError("timerfd_create");
  const auto rung = [this, ring = std::move(ring)](uint32_t) {
    uint64_t times = 0;
    // Nothing to read: it was set anew meanwhile.
    if (read(timer_.get(), &times, sizeof times) != sizeof times) return;
    at_.reset();
    ring();
  };
  return loop.Watch(timer_.get(), EPOLLIN, rung).status();
}

void Alarm::Set(std::optional<Instant> at) {
  if (at == at_) return;
  at_ = at;
  itimerspec spec = {};
  if (at) {
    // All zeros would turn it off.
    const Duration since = std::max<Duration>(at->time_since_epoch(), Duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (since - seconds).count();
  }
  // The numbers are in range and the descriptor is a timer's: nothing can fail.
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

}  // namespace vramspan::broker
