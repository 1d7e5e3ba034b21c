#include "tools/replay/kept_allocations.h"

#include <absl/algorithm/container.h>

namespace vramspan::replay {

KeptAllocations::KeptAllocations(const ChunkedRun* chunks, VirtualMemory* memory,
                                 const std::vector<Pin>& pins, Bytes budget)
    : chunks_(*chunks), memory_(*memory), pins_(pins, budget), pinned_(pins.size(), Pins::kNone) {}

void KeptAllocations::Made(uint32_t allocation) {
  const uint32_t pin = pins_.Made(chunks_.run().allocations[allocation].size);
  if (pin == Pins::kNone) return;
  pinned_[pin] = allocation;
  Advise();
}

void KeptAllocations::Freed(uint32_t allocation) {
  const auto pinned = absl::c_find(pinned_, allocation);
  if (pinned == pinned_.end()) return;
  *pinned = Pins::kNone;
  pins_.Gone(static_cast<uint32_t>(pinned - pinned_.begin()));
  Advise();
}

void KeptAllocations::SetBudget(Bytes budget) {
  pins_.SetBudget(budget);
  Advise();
}

void KeptAllocations::Advise() {
  for (const Pins::Change& change : pins_.Changes()) {
    const uint32_t a = pinned_[change.pin];
    for (uint32_t i = 0; i < chunks_.count(a); ++i) {
      const ChunkIndex chunk(chunks_.first(a).value + i);
      memory_[chunk].advice = change.keep ? Advice::kKeepOnDevice : Advice::kNone;
      memory_.table().NoteChange(chunk);
    }
  }
}

}  // namespace vramspan::replay
