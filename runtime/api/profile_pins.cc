#include "runtime/api/profile_pins.h"

#include <absl/algorithm/container.h>

namespace vramspan {

ProfilePins::ProfilePins(const std::vector<Pin>& pins, Bytes budget, RunListener* next)
    : next_(next), pins_(pins, budget), base_(pins.size()) {}

void ProfilePins::Allocated(DevicePtr base, Bytes size) {
  MutexLock lock(memory_->mu);
  Made(base, size);
}

void ProfilePins::Freeing(DevicePtr base) {
  MutexLock lock(memory_->mu);
  Gone(base);
}

void ProfilePins::BudgetIs(Bytes device) {
  MutexLock lock(memory_->mu);
  pins_.SetBudget(device);
  Apply();
}

void ProfilePins::Moved(DevicePtr base, Bytes size, bool in, bool clean,
                        std::chrono::steady_clock::time_point began) {
  if (next_ != nullptr) next_->Moved(base, size, in, clean, began);
}

void ProfilePins::Released(uint64_t tag, Bytes remote) {
  if (next_ != nullptr) next_->Released(tag, remote);
}

void ProfilePins::Mapped(DevicePtr base, Bytes size) {
  Made(base, size);
  if (next_ != nullptr) next_->Mapped(base, size);
}

void ProfilePins::Unmapped(DevicePtr base) {
  Gone(base);
  if (next_ != nullptr) next_->Unmapped(base);
}

void ProfilePins::Made(DevicePtr base, Bytes size) {
  const uint32_t pin = pins_.Made(size);
  if (pin == Pins::kNone) return;
  base_[pin] = base;
  Apply();
}

void ProfilePins::Gone(DevicePtr base) {
  const auto it = absl::c_find(base_, base);
  if (it == base_.end()) return;
  *it = DevicePtr();
  pins_.Gone(static_cast<uint32_t>(it - base_.begin()));
  Apply();
}

void ProfilePins::Apply() {
  for (const Pins::Change& change : pins_.Changes()) {
    // What the program advised since is as it wants it.
    const Advice from = change.keep ? Advice::kNone : Advice::kKeepOnDevice;
    const Advice to = change.keep ? Advice::kKeepOnDevice : Advice::kNone;
    memory_->ForEachChunk(base_[change.pin], pins_.at(change.pin).size,
                          [&](ChunkIndex index, Chunk& c) VS_NO_THREAD_SAFETY_ANALYSIS {
                            if (c.advice != from) return;
                            c.advice = to;
                            memory_->chunks().NoteChange(index);
                          });
  }
}

}  // namespace vramspan
