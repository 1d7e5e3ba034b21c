#include "tools/broker/server/loop.h"

#include <array>
#include <cerrno>
#include <utility>

#include "tools/broker/server/system_error.h"

namespace vramspan::broker {

StatusOr<std::unique_ptr<Loop>> Loop::Make() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) return SystemError("epoll_create1");
  return std::unique_ptr<Loop>(new Loop(epoll));
}

StatusOr<WatchId> Loop::Watch(int fd, uint32_t events, Handler handler) {
  const WatchId watch = ++last_;
  epoll_event event = {};
  event.events = events;
  event.data.u64 = watch;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return SystemError("epoll_ctl");
  watched_[watch] = {fd, std::make_shared<Handler>(std::move(handler))};
  return watch;
}

void Loop::Expect(WatchId watch, uint32_t events) {
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return;
  epoll_event event = {};
  event.events = events;
  event.data.u64 = watch;
  // It was added, and only what is there is changed: nothing can fail.
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, found->second.fd, &event);
}

void Loop::Forget(WatchId watch) {
  const auto found = watched_.find(watch);
  if (found == watched_.end()) return;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second.fd, nullptr);
  watched_.erase(found);
}

Status Loop::Run() {
  std::array<epoll_event, 64> events;
  while (!stopped_) {
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) return SystemError("epoll_wait");
    for (int i = 0; i < count && !stopped_; ++i) {
      const auto found = watched_.find(events[static_cast<size_t>(i)].data.u64);
      if (found == watched_.end()) continue;
      // The handler may forget itself.
      const std::shared_ptr<Handler> handler = found->second.handler;
      (*handler)(events[static_cast<size_t>(i)].events);
    }
    if (after_) after_();
  }
  return absl::OkStatus();
}

}  // namespace vramspan::broker
