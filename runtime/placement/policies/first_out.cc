#include "runtime/placement/policies/first_out.h"

namespace vramspan {

void FirstOutPolicy::OnInsert(ChunkIndex chunk) {
  rest_->OnInsert(chunk);
  const bool advised = chunk.value < advised_.size() && advised_[chunk.value];
  if (advised && !first_.Contains(chunk)) first_.PushBack(chunk);
}

void FirstOutPolicy::OnUse(ChunkIndex chunk) {
  rest_->OnUse(chunk);
  if (first_.Contains(chunk)) first_.MoveToBack(chunk);
}

void FirstOutPolicy::OnRemove(ChunkIndex chunk) {
  rest_->OnRemove(chunk);
  if (first_.Contains(chunk)) first_.Remove(chunk);
}

void FirstOutPolicy::Advise(ChunkIndex chunk, bool leaves_first, bool on_device) {
  if (chunk.value >= advised_.size()) {
    if (!leaves_first) return;
    advised_.resize(chunk.value + 1);
  }
  advised_[chunk.value] = leaves_first;
  if (first_.Contains(chunk)) {
    if (!leaves_first) first_.Remove(chunk);
  } else if (leaves_first && on_device) {
    first_.PushBack(chunk);
  }
}

void FirstOutPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  if (!first_.Front()) {
    rest_->OfferVictims(take);
    return;
  }
  bool done = false;
  for (ChunkIndex c = first_.Front(); c && !done; c = first_.Next(c)) done = take(c);
  if (done) return;
  rest_->OfferVictims([&](ChunkIndex c) { return !first_.Contains(c) && take(c); });
}

void FirstOutPolicy::OfferAmong(absl::Span<const ChunkIndex> wanted,
                                absl::FunctionRef<bool(ChunkIndex)> take) {
  first_.Front() ? OfferVictims(take) : rest_->OfferAmong(wanted, take);
}

}  // namespace vramspan
