// What the program's threads tell when they end: the mover may have gone by then, or go meanwhile.
#ifndef VRAMSPAN_RUNTIME_MOVER_MOVER_ENDED_THREADS_H_
#define VRAMSPAN_RUNTIME_MOVER_MOVER_ENDED_THREADS_H_

#include "runtime/base/mutex.h"
#include "runtime/base/thread_end.h"
#include "runtime/mover/mover.h"

namespace vramspan {

class Mover::EndedThreads : public ThreadEnd::Listener {
 public:
  explicit EndedThreads(Mover* mover) : mover_(mover) {}

  // Nobody is told from here on; waits for those who are just being.
  void Detach() {
    ExclusiveLock lock(mu_);
    mover_ = nullptr;
  }

  void ThreadEnds() override {
    SharedLock lock(mu_);
    if (mover_ != nullptr) mover_->EndThread();
  }

 private:
  SharedMutex mu_;
  Mover* mover_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_MOVER_ENDED_THREADS_H_
