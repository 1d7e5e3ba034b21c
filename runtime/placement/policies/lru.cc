#include "runtime/placement/policies/lru.h"

namespace vramspan {

void LruPolicy::OnInsert(ChunkIndex chunk) {
  if (!order_.Contains(chunk)) order_.PushBack(chunk);
}

void LruPolicy::OnUse(ChunkIndex chunk) {
  if (order_.Contains(chunk)) order_.MoveToBack(chunk);
}

void LruPolicy::OnRemove(ChunkIndex chunk) {
  if (order_.Contains(chunk)) order_.Remove(chunk);
}

void LruPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  for (ChunkIndex c = order_.Front(); c; c = order_.Next(c)) {
    if (take(c)) return;
  }
}

}  // namespace vramspan
