// Between the entry of a hook and its return: the runtimes that it looked up (runtimes.h) stay that
// long, whoever ends their contexts meanwhile. Hooks nest; the outermost counts.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_HOOK_SCOPE_H_
#define VRAMSPAN_RUNTIME_PRELOAD_HOOK_SCOPE_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/thread_local.h"

namespace vramspan::preload {

class HookScope {
 public:
  HookScope() { ++depth_; }
  ~HookScope() {
    if (--depth_ == 0 && held_ != 0) [[unlikely]]
      LetGo(held_);
  }
  HookScope(const HookScope&) = delete;
  HookScope& operator=(const HookScope&) = delete;

  // Whoever uses the runtime of a device from here on is counted, until the hook returns; nobody
  // outside of hooks, where nothing says when the use ends. True: is from now on.
  static bool Use(size_t device) {
    if (depth_ == 0 || (held_ >> device & 1) != 0) return false;
    Hold(device);
    return true;
  }
  // This thread does not, after all: it ends the runtime itself.
  static void LetGoOf(size_t device) { LetGo(held_ & uint32_t{1} << device); }

 private:
  static void Hold(size_t device);
  static void LetGo(uint32_t devices);

  static inline VS_HOT_THREAD_LOCAL uint32_t depth_ = 0;
  static inline VS_HOT_THREAD_LOCAL uint32_t held_ = 0;   // A bit for each device,
  static inline VS_HOT_THREAD_LOCAL uint32_t sides_ = 0;  // and the side of Presence.
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_HOOK_SCOPE_H_
