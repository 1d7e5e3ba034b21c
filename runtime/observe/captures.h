// Captures of the program's: what is submitted to a stream that captures does not happen in the
// stream itself, but whenever its graph is launched.
//
// Counted by whoever stands between the program and the driver. Threads: any.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_CAPTURES_H_
#define VRAMSPAN_RUNTIME_OBSERVE_CAPTURES_H_

#include <atomic>
#include <cstdint>

namespace vramspan {

inline constinit std::atomic<int64_t> captures_under_way{0};
inline constinit std::atomic<uint64_t> captures_begun{0};

// Whether any stream captures. One that was destroyed meanwhile counts for good.
inline bool CapturesUnderWay() { return captures_under_way.load(std::memory_order_acquire) > 0; }
// How many captures there ever were.
inline uint64_t CapturesBegun() { return captures_begun.load(std::memory_order_acquire); }

inline void CaptureBegins() {
  captures_under_way.fetch_add(1, std::memory_order_acq_rel);
  captures_begun.fetch_add(1, std::memory_order_acq_rel);
}
inline void CaptureEnded() {
  int64_t now = captures_under_way.load(std::memory_order_relaxed);
  while (now > 0 && !captures_under_way.compare_exchange_weak(now, now - 1)) {
  }
}

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_CAPTURES_H_
