// Keeps pthread_cancel off the calling thread while code of ours runs on it: what waits, sleeps or
// writes would else be unwound with a gate passed or a lock held. A cancellation that comes
// meanwhile takes effect at the program's own next cancellation point.
//
// The outermost costs about 15 ns (two atomic exchanges in glibc), those inside it next to nothing.
// So the launch path has none where it does nothing that can be cancelled.
#ifndef VRAMSPAN_RUNTIME_BASE_UNCANCELLABLE_H_
#define VRAMSPAN_RUNTIME_BASE_UNCANCELLABLE_H_

#include <pthread.h>

#include "runtime/base/thread_local.h"

namespace vramspan {

class Uncancellable {
 public:
  Uncancellable() { Enter(); }
  ~Uncancellable() { Exit(); }
  Uncancellable(const Uncancellable&) = delete;
  Uncancellable& operator=(const Uncancellable&) = delete;

  // The same for what begins in one function and ends in another: once for each thread.
  static void Hold() {
    if (!held_) Enter();
    held_ = true;
  }
  static void EndHold() {
    if (!held_) [[likely]]
      return;
    held_ = false;
    due_ = true;
    Exit();
  }

  // The thread has waited where without us it waits in the driver, and could be cancelled there. At
  // the end of a hook, where nothing is open any more, it is.
  static void NoteWait() { due_ = true; }
  static void TestIfDue() {
    if (!due_) [[likely]]
      return;
    due_ = false;
    pthread_testcancel();
  }

 private:
  static void Enter() {
    if (depth_++ == 0) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
  }
  static void Exit() {
    if (--depth_ == 0 && before_ != PTHREAD_CANCEL_DISABLE) {
      pthread_setcancelstate(before_, nullptr);
    }
  }

  static inline VS_HOT_THREAD_LOCAL int depth_ = 0;
  static inline VS_HOT_THREAD_LOCAL int before_ = PTHREAD_CANCEL_DISABLE;
  static inline VS_HOT_THREAD_LOCAL bool held_ = false;
  static inline VS_HOT_THREAD_LOCAL bool due_ = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_UNCANCELLABLE_H_
