#include "runtime/placement/policies/cycle.h"

#include "runtime/base/grow.h"

namespace vramspan {

void CyclePolicy::OnInsert(ChunkIndex chunk) {
  if (order_.Contains(chunk)) return;
  order_.PushBack(0, chunk);
  if (chunk.value >= entries_.size()) GrowTo(entries_, size_t{chunk.value} + 1);
  entries_[chunk.value].returned = 0;
  ++present_;
}

void CyclePolicy::OnUse(ChunkIndex chunk) {
  if (!order_.Contains(chunk)) return;
  order_.MoveToBack(0, chunk);
  loops_.OnUse(entries_, chunk, present_);
}

void CyclePolicy::OnRemove(ChunkIndex chunk) {
  if (!order_.Contains(chunk)) return;
  order_.Remove(chunk);
  LoopWatch::OnRemove(entries_[chunk.value]);
  --present_;
}

void CyclePolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  ChunkIndex c = order_.Front(0);
  if (!loops_.looping()) {
    for (; c; c = order_.Next(c)) {
      if (take(c)) return;
    }
    return;
  }
  for (; c && loops_.DroppedOut(entries_[c.value]); c = order_.Next(c)) {
    if (take(c)) return;
  }
  const ChunkIndex first = c;
  if (!first) return;
  const auto returned = [&](ChunkIndex chunk) { return entries_[chunk.value].returned; };
  const auto in_use = [&](ChunkIndex chunk) { return loops_.InUse(entries_[chunk.value]); };
  for (c = order_.Back(0);; c = order_.Prev(c)) {
    if (returned(c) && !in_use(c) && take(c)) return;
    if (c == first) break;
  }
  for (c = first; c; c = order_.Next(c)) {
    if (!returned(c) && take(c)) return;
  }
  for (c = first; c; c = order_.Next(c)) {
    if (returned(c) && in_use(c) && take(c)) return;
  }
}

}  // namespace vramspan
