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
  TakeOut(chunk);
  order_.PushBack(0, chunk);
  loops_.OnUse(entries_, chunk, present_);
  if (!Returned(chunk)) return;
  last_returned_ = chunk;
  ++returned_;
}

void CyclePolicy::OnRemove(ChunkIndex chunk) {
  if (!order_.Contains(chunk)) return;
  TakeOut(chunk);
  LoopWatch::OnRemove(entries_[chunk.value]);
  --present_;
}

void CyclePolicy::TakeOut(ChunkIndex chunk) {
  if (chunk == last_returned_) last_returned_ = order_.Prev(chunk);
  order_.Remove(chunk);
  returned_ -= Returned(chunk);
}

void CyclePolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  ChunkIndex c = order_.Front(0);
  if (!loops_.looping()) {
    for (; c; c = order_.Next(c)) {
      if (take(c)) return;
    }
    return;
  }
  uint32_t returned = returned_;
  for (; c && loops_.DroppedOut(entries_[c.value]); c = order_.Next(c)) {
    returned -= Returned(c);
    if (take(c)) return;
  }
  const ChunkIndex first = c;
  if (returned > 0) {
    while (!Returned(last_returned_)) last_returned_ = order_.Prev(last_returned_);
    c = last_returned_;
    for (uint32_t left = returned; left > 0; c = order_.Prev(c)) {
      left -= Returned(c);
      if (Returned(c) && take(c)) return;
    }
  }
  for (c = first; c; c = order_.Next(c)) {
    if (!Returned(c) && take(c)) return;
  }
}

}  // namespace vramspan
