#include "runtime/placement/policies/fifo.h"

namespace vramspan {

void FifoPolicy::OnInsert(ChunkIndex chunk) {
  if (!order_.Contains(chunk)) order_.PushBack(chunk);
}

void FifoPolicy::OnRemove(ChunkIndex chunk) {
  if (order_.Contains(chunk)) order_.Remove(chunk);
}

void FifoPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  for (ChunkIndex c = order_.Front(); c; c = order_.Next(c)) {
    if (take(c)) return;
  }
}

}  // namespace vramspan
