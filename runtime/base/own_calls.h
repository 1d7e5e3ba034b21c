// Driver calls that the runtime makes for itself: whoever watches the program's calls lets them
// pass. By thread: set in every function of the public interface, in the runtime's own threads, and
// wherever a watched call makes calls of its own. Nor is the thread cancelled meanwhile.
#ifndef VRAMSPAN_RUNTIME_BASE_OWN_CALLS_H_
#define VRAMSPAN_RUNTIME_BASE_OWN_CALLS_H_

#include "runtime/base/thread_local.h"
#include "runtime/base/uncancellable.h"

namespace vramspan {

// On the launch path: of what can be cancelled there, each place is Uncancellable itself.
class OwnCallsOfLaunch {
 public:
  OwnCallsOfLaunch() { ++depth_; }
  ~OwnCallsOfLaunch() { --depth_; }
  OwnCallsOfLaunch(const OwnCallsOfLaunch&) = delete;
  OwnCallsOfLaunch& operator=(const OwnCallsOfLaunch&) = delete;

 private:
  friend class OwnCalls;
  static inline VS_HOT_THREAD_LOCAL int depth_ = 0;
};

class OwnCalls {
 public:
  OwnCalls() = default;
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

  static bool Now() { return OwnCallsOfLaunch::depth_ != 0; }

 private:
  const Uncancellable uncancellable_;
  const OwnCallsOfLaunch calls_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_OWN_CALLS_H_
