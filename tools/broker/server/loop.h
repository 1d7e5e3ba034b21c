// The daemon's one thread: waits for descriptors, and calls whoever watches them.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_LOOP_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_LOOP_H_

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "runtime/base/status.h"
#include "tools/broker/server/fd.h"

namespace vramspan::broker {

// Names something watched. It is never used for another. 0 is nothing.
using WatchId = uint64_t;

class Loop {
 public:
  // With the events of epoll that have come.
  using Handler = std::function<void(uint32_t events)>;

  static StatusOr<std::unique_ptr<Loop>> Make();

  // `fd` stays the caller's, who forgets the watch before closing it.
  StatusOr<WatchId> Watch(int fd, uint32_t events, Handler handler);
  // Which events are waited for from here on. 0: none, but an end is told of all the same.
  void Expect(WatchId watch, uint32_t events);
  // It is called no more, also for what has come already. A handler may forget its own.
  void Forget(WatchId watch);

  // Called when all that has come has been handled.
  void Afterwards(std::function<void()> after) { after_ = std::move(after); }

  Status Run();  // Until Stop.
  void Stop() { stopped_ = true; }

 private:
  struct Watched {
    int fd = -1;
    std::shared_ptr<Handler> handler;
  };

  explicit Loop(int epoll) : epoll_(epoll) {}

  Fd epoll_;
  std::unordered_map<WatchId, Watched> watched_;
  std::function<void()> after_;
  WatchId last_ = 0;
  bool stopped_ = false;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_LOOP_H_
