// A number of its own for each thread there ever is, from 1 on. What a thread is known by: the
// system hands out the ids of threads that have ended again (glibc at once, with their stacks), so
// std::thread::id and pthread_t name a thread only while it runs.
#ifndef VRAMSPAN_RUNTIME_BASE_THREAD_NUMBER_H_
#define VRAMSPAN_RUNTIME_BASE_THREAD_NUMBER_H_

#include <atomic>
#include <cstdint>

#include "runtime/base/thread_local.h"

namespace vramspan {

class ThreadNumber {
 public:
  // The calling thread's.
  static uint64_t Mine() { return mine_ != 0 ? mine_ : Take(); }

 private:
  __attribute__((noinline)) static uint64_t Take() {
    return mine_ = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  static inline std::atomic<uint64_t> last_{0};
  static inline VS_HOT_THREAD_LOCAL uint64_t mine_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BASE_THREAD_NUMBER_H_
