// Pointers that lie in device memory, as far as they were seen on their way there: a small copy
// from the host is scanned for addresses of an arena, and its target remembers what they point at.
// A launch that names the target then names what is behind it as well, some levels deep.
//
// Bounded: copies above kMostScanned are not scanned, at most kMostTargets pointers are remembered
// (the oldest copy is forgotten first), and a closure yields at most kMostFollowed of them. What is
// lost costs time only: memory nobody named is served where it lies.
//
// Threads: any; one lock, taken only where a copy holds pointers or a launch is followed.
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

  HiddenPointers(DevicePtr arena, Bytes size);
  ~HiddenPointers();

  // The copy is being submitted. Replaces what its target held before; an unscanned one (too large)
  // leaves what was there. Target may be outside the arena (a module's global). The source is read
  // at once; where it is written later, what it says then is not seen.
  void Copied(const HostCopy& copy);
  // Memory [ptr, ptr + size) was freed or overwritten as a whole.
  void Forget(DevicePtr ptr, Bytes size);
  // Objects that stand for memory (textures, surfaces, tensor maps) by the 8 or 64-bit value or the
  // bytes that a launch passes: `handle` names `ptr`.
  void Name(uint64_t handle, DevicePtr ptr, Bytes size);
  void Unname(uint64_t handle);

  // True while nothing is remembered: then Follow has nothing to add. One load.
  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // Adds to the touches of a launch what is behind them, each start once. `extent` says how far a
  // touch of unknown size may reach: the end of its allocation.
  using Extent = DevicePtr (*)(void* context, DevicePtr ptr);
  void Follow(Submission* submission, Extent extent, void* context) const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
  std::atomic<size_t> count_{0};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_HIDDEN_POINTERS_H_
