// Keeps on the device what a profile names (VRAMSPAN_KEEP, placement/pins.h), by the advice that a
// linked program has for it: a hint, given up where it does not fit.
//
// Made only where something is named; otherwise allocations cost one comparison. Threads: any.
#ifndef VRAMSPAN_RUNTIME_API_PROFILE_PINS_H_
#define VRAMSPAN_RUNTIME_API_PROFILE_PINS_H_

#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/memory/run_listener.h"
#include "runtime/placement/pins.h"

namespace vramspan {

// Listens to memory, for what the program maps itself counts as well, and passes on what it hears.
class ProfilePins final : public RunListener {
 public:
  // `next`: may be null, and outlives this.
  ProfilePins(const std::vector<Pin>& pins, Bytes budget, RunListener* next);
  // Before anything is allocated. `memory` is told of this as its listener.
  void SetMemory(Memory* memory) { memory_ = memory; }

  void Allocated(DevicePtr base, Bytes size);
  void Freeing(DevicePtr base);  // Before it is.
  void BudgetIs(Bytes device);

  // RunListener.
  void Moved(DevicePtr base, Bytes size, bool in, bool clean,
             std::chrono::steady_clock::time_point began) override;
  void Released(uint64_t tag, Bytes remote) override;
  void Mapped(DevicePtr base, Bytes size) override;
  void Unmapped(DevicePtr base) override;
  bool CallOffReads(absl::Span<const ChunkIndex> chunks) override {
    return next_ != nullptr && next_->CallOffReads(chunks);
  }

 private:
  // All under the memory's lock, which the analysis does not see where memory calls.
  void Made(DevicePtr base, Bytes size);
  void Gone(DevicePtr base);
  void Apply() VS_NO_THREAD_SAFETY_ANALYSIS;

  RunListener* const next_;
  Memory* memory_ = nullptr;
  Pins pins_;
  std::vector<DevicePtr> base_;  // By pin; 0: it does not live.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_PROFILE_PINS_H_
