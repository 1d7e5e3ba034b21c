#include "runtime/base/thread_end.h"

#include <unistd.h>

#include <utility>
#include <vector>

namespace vramspan {

struct ThreadEnd::Listeners {
  pid_t process = getpid();
  std::vector<std::weak_ptr<Listener>> all;

  ~Listeners() {
    told_ = true;
    if (process != getpid()) return;
    for (const auto& weak : all) {
      if (const auto listener = weak.lock()) listener->ThreadEnds();
    }
  }
};

void ThreadEnd::Tell(const std::shared_ptr<Listener>& listener) {
  if (told_) return;
  thread_local Listeners mine;
  if (mine.process != getpid()) {  // The thread that came through a fork.
    mine.process = getpid();
    mine.all.clear();
  }
  std::erase_if(mine.all, [&](const auto& weak) {
    const auto known = weak.lock();
    return known == nullptr || known == listener;
  });
  mine.all.push_back(listener);
}

}  // namespace vramspan
