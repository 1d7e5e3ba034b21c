#include "runtime/placement/policies/lfu.h"

#include <algorithm>

#include "runtime/base/grow.h"

namespace vramspan {

void LfuPolicy::OnInsert(ChunkIndex chunk) {
  if (by_uses_.Contains(chunk)) return;
  by_uses_.PushBack(0, chunk);
  if (chunk.value >= uses_.size()) GrowTo(uses_, size_t{chunk.value} + 1);
  uses_[chunk.value] = 0;
  ++present_;
}

void LfuPolicy::OnUse(ChunkIndex chunk) {
  if (!by_uses_.Contains(chunk)) return;
  uint8_t& uses = uses_[chunk.value];
  uses = static_cast<uint8_t>(std::min<uint32_t>(uses + 1, kMostUses));
  by_uses_.MoveToBack(uses, chunk);
  if (++since_halved_ >= kUsesPerChunk * present_) Halve();
}

void LfuPolicy::OnRemove(ChunkIndex chunk) {
  if (!by_uses_.Contains(chunk)) return;
  by_uses_.Remove(chunk);
  --present_;
}

void LfuPolicy::Halve() {
  since_halved_ = 0;
  for (uint32_t n = 1; n <= kMostUses; ++n) {
    for (ChunkIndex c = by_uses_.Front(n); c; c = by_uses_.Next(c)) uses_[c.value] >>= 1;
    // Upwards, so that what had less stays before what had more.
    by_uses_.Append(n, n / 2);
  }
}

void LfuPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  for (uint32_t n = 0; n <= kMostUses; ++n) {
    for (ChunkIndex c = by_uses_.Front(n); c; c = by_uses_.Next(c)) {
      if (take(c)) return;
    }
  }
}

}  // namespace vramspan
