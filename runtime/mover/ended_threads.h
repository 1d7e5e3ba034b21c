// What the program's threads tell when they end: whoever is to be told may have gone by then, or
// go meanwhile.
#ifndef VRAMSPAN_RUNTIME_MOVER_ENDED_THREADS_H_
#define VRAMSPAN_RUNTIME_MOVER_ENDED_THREADS_H_

#include <functional>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/base/thread_end.h"

namespace vramspan {

class EndedThreads : public ThreadEnd::Listener {
 public:
  explicit EndedThreads(std::function<void()> tell) : tell_(std::move(tell)) {}

  // Nobody is told from here on; waits for those who are just being.
  void Detach() {
    ExclusiveLock lock(mu_);
    tell_ = nullptr;
  }

  void ThreadEnds() override {
    SharedLock lock(mu_);
    if (tell_ != nullptr) tell_();
  }

 private:
  SharedMutex mu_;
  std::function<void()> tell_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_ENDED_THREADS_H_
