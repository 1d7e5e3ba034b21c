// Driver calls that the runtime makes for itself: whoever watches the program's calls lets them
// pass. By thread: set in every function of the public interface, in the runtime's own threads, and
// wherever a watched call makes calls of its own.
#ifndef VRAMSPAN_RUNTIME_BASE_OWN_CALLS_H_
#define VRAMSPAN_RUNTIME_BASE_OWN_CALLS_H_

#include "runtime/base/thread_local.h"

namespace vramspan {

class OwnCalls {
 public:
  OwnCalls() { ++depth_; }
  ~OwnCalls() { --depth_; }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

  static bool Now() { return depth_ != 0; }

 private:
  static inline VS_HOT_THREAD_LOCAL int depth_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_OWN_CALLS_H_
