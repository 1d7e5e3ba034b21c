#include "runtime/placement/policies/clock.h"

#include "runtime/base/grow.h"

namespace vramspan {

void ClockPolicy::OnInsert(ChunkIndex chunk) {
  if (order_.Contains(chunk)) return;
  order_.PushBack(chunk);
  if (chunk.value >= used_.size()) GrowTo(used_, size_t{chunk.value} + 1);
  used_[chunk.value] = 0;
  ++present_;
}

void ClockPolicy::OnUse(ChunkIndex chunk) {
  if (!order_.Contains(chunk) || used_[chunk.value]) return;
  used_[chunk.value] = 1;
  ++used_count_;
}

void ClockPolicy::OnRemove(ChunkIndex chunk) {
  if (!order_.Contains(chunk)) return;
  if (!used_[chunk.value]) {
    Advance();
  } else if (used_count_ == present_ && order_.Front() == chunk) {
    // The hand found every bit set and came round to where it had started.
    ClearAll();
  }
  used_count_ -= used_[chunk.value];
  --present_;
  order_.Remove(chunk);
}

void ClockPolicy::Advance() {
  // Each step is paid for by the use that set the bit.
  for (ChunkIndex c = order_.Front(); used_[c.value]; c = order_.Front()) {
    used_[c.value] = 0;
    --used_count_;
    order_.MoveToBack(c);
  }
}

void ClockPolicy::ClearAll() {
  for (ChunkIndex c = order_.Front(); c; c = order_.Next(c)) used_[c.value] = 0;
  used_count_ = 0;
}

void ClockPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  // First round: what has a clear bit. Second round: the others, whose bits the first would have
  // cleared.
  for (const uint8_t round : {0, 1}) {
    if ((round ? used_count_ : present_ - used_count_) == 0) continue;
    for (ChunkIndex c = order_.Front(); c; c = order_.Next(c)) {
      if (used_[c.value] == round && take(c)) return;
    }
  }
}

}  // namespace vramspan
