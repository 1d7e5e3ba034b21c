// Pointers that lie in device memory, as far as they were seen on their way there: a small copy
// from the host is scanned for addresses of an arena, and its target remembers what they point at.
// A launch that names the target then names what is behind it as well, some levels deep. Targets
// outside the arena are a module's variables or memory that is not ours: what is behind them any
// launch may reach.
//
// Bounded: copies above kMostScanned are not scanned, at most kMostTargets pointers are remembered
// (the oldest copy is forgotten first), and a closure yields at most kMostFollowed of them. What is
// lost costs time only: memory nobody named is served where it lies.
//
// Threads: any; one lock, not taken by copies without pointers while nothing is remembered.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_HIDDEN_POINTERS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_HIDDEN_POINTERS_H_

#include <atomic>
#include <memory>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/observe/submission.h"

namespace vramspan {

class HiddenPointers {
 public:
  static constexpr Bytes kMostScanned = KiB(64);
  static constexpr size_t kMostTargets = 1 << 20;
  static constexpr size_t kMostFollowed = 4096;
  static constexpr int kMostLevels = 4;

  // `most_targets` in place of kMostTargets, for tests.
  HiddenPointers(DevicePtr arena, Bytes size, size_t most_targets = kMostTargets);
  ~HiddenPointers();

  // The copy is being submitted. Replaces what its target held before; an unscanned one (too large,
  // or of memory that the CPU cannot read) leaves what was there. The source is read at once; where
  // it is written later, what it says then is not seen. Returns how much was scanned.
  Bytes Copied(const HostCopy& copy);
  // Memory [ptr, ptr + size) was freed or overwritten as a whole.
  void Forget(DevicePtr ptr, Bytes size);

  // True while nothing is remembered: then Follow has nothing to add. One load.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // Has grown once Follow adds something else to some launch.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  // Adds to the touches of a launch what is behind them, each start once; makes it incomplete where
  // the bounds cut that short. `extent` says how far a touch of unknown size may reach: the end of
  // its allocation. It is called under the lock.
  using Extent = DevicePtr (*)(void* context, DevicePtr ptr);
  void Follow(Submission* submission, Extent extent, void* context) const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
  std::atomic<size_t> count_{0};
  std::atomic<uint64_t> changes_{0};  // Written under the lock.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_HIDDEN_POINTERS_H_
