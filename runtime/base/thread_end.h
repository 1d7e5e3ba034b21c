// Tells what keeps something for a thread that the thread ends. The word comes on that thread, with
// the destructors of its thread_local variables: before those of pthread keys, by which a driver
// takes its own part of a thread apart, so the thread's default stream is still there.
//
// Threads: any. A listener that is gone by then is not told, nor is anybody in a child of a fork:
// what a listener there would lock, a thread of the parent may have held.
#ifndef VRAMSPAN_RUNTIME_BASE_THREAD_END_H_
#define VRAMSPAN_RUNTIME_BASE_THREAD_END_H_

#include <memory>

#include "runtime/base/thread_local.h"

namespace vramspan {

class ThreadEnd {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void ThreadEnds() = 0;
  };

  // Tells `listener` once, when the calling thread ends; not where Told() holds already.
  static void Tell(const std::shared_ptr<Listener>& listener);
  // The calling thread's listeners have been told. It may still make calls, from the destructors of
  // pthread keys, and nothing says which is its last.
  static bool Told() { return told_; }

 private:
  struct Listeners;
  static inline VS_HOT_THREAD_LOCAL bool told_ = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_THREAD_END_H_
