#include "runtime/placement/policies/sieve.h"

#include "runtime/base/grow.h"

namespace vramspan {

void SievePolicy::OnInsert(ChunkIndex chunk) {
  if (order_.Contains(chunk)) return;
  order_.PushBack(chunk);
  if (chunk.value >= state_.size()) GrowTo(state_, size_t{chunk.value} + 1);
  state_[chunk.value] = kNotUsed;
  ++present_;
}

void SievePolicy::OnUse(ChunkIndex chunk) {
  if (!order_.Contains(chunk) || Visited(chunk)) return;
  if (++state_[chunk.value] == kVisited) ++visited_;
}

void SievePolicy::OnRemove(ChunkIndex chunk) {
  if (!order_.Contains(chunk)) return;
  if (!Visited(chunk)) {
    Advance();
  } else {
    if (visited_ == present_ && Hand() == chunk) {
      // The hand found every bit set and came round to where it had started.
      for (ChunkIndex c = order_.Front(); c; c = order_.Next(c)) Clear(c);
    } else {
      Clear(chunk);
    }
  }
  if (hand_ == chunk) hand_ = order_.Next(chunk);
  order_.Remove(chunk);
  --present_;
}

void SievePolicy::Clear(ChunkIndex chunk) {
  if (!Visited(chunk)) return;
  state_[chunk.value] = kUsedOnce;
  --visited_;
}

void SievePolicy::Advance() {
  // Each step is paid for by the use that set the bit.
  ChunkIndex c = Hand();
  while (Visited(c)) {
    Clear(c);
    c = order_.Next(c);
    if (!c) c = order_.Front();
  }
  hand_ = c;
}

void SievePolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  // First round: what has a clear bit. Second round: the others, whose bits the first would have
  // cleared.
  const ChunkIndex start = Hand();
  for (const bool visited : {false, true}) {
    if ((visited ? visited_ : present_ - visited_) == 0) continue;
    ChunkIndex c = start;
    do {
      if (Visited(c) == visited && take(c)) return;
      c = order_.Next(c);
      if (!c) c = order_.Front();
    } while (c != start);
  }
}

}  // namespace vramspan
