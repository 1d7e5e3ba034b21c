// How the mover's thread and those who wait for it tell each other.
//
// Threads: all of it under the memory lock, but for the notifications.
#ifndef VRAMSPAN_RUNTIME_MOVER_SIGNALS_H_
#define VRAMSPAN_RUNTIME_MOVER_SIGNALS_H_

#include <chrono>
#include <utility>

#include "runtime/base/mutex.h"

namespace vramspan {

class Signals {
 public:
  // --- to the thread ---
  // There is something to look at.
  void Wake() {
    look_again_ = true;
    if (sleeping_) wake_.NotifyOne();
  }
  bool pending() const { return look_again_; }
  void Looks() { look_again_ = false; }
  // Sleeps until it is woken; `most`: or for so long, where that is not zero.
  void Sleep(Mutex& mu, std::chrono::microseconds most) VS_REQUIRES(mu) {
    sleeping_ = true;
    if (most.count() != 0) {
      wake_.WaitFor(mu, most);
    } else {
      wake_.Wait(mu);
    }
    sleeping_ = false;
  }

  // --- from it ---
  void Done() { done_.NotifyAll(); }
  // For those who wait for work or moves.
  CondVar& done() { return done_; }

 private:
  CondVar wake_, done_;
  bool look_again_ = false;
  bool sleeping_ = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_SIGNALS_H_
