#include "runtime/placement/policies/arc.h"

#include <algorithm>

#include "runtime/base/grow.h"

namespace vramspan {

void ArcPolicy::OnInsert(ChunkIndex chunk) {
  const List from = Where(chunk);
  if (from <= kAgain) return;
  if (chunk.value >= entries_.size()) GrowTo(entries_, size_t{chunk.value} + 1);
  const uint32_t room = size_[kOnce] + size_[kAgain] + 1;
  if (from == kNone) {
    Trim(room);
    Move(chunk, kOnce);
  } else {
    Adapt(from, room);
    Move(chunk, kAgain);
  }
  entries_[chunk.value].used = 0;
}

void ArcPolicy::OnUse(ChunkIndex chunk) {
  if (!Present(chunk)) return;
  Entry& entry = entries_[chunk.value];
  Move(chunk, entry.list == kOnce && !entry.used ? kOnce : kAgain);
  entry.used = 1;
}

void ArcPolicy::OnRemove(ChunkIndex chunk) {
  if (!Present(chunk)) return;
  Move(chunk, Where(chunk) == kOnce ? kOnceGhost : kAgainGhost);
}

void ArcPolicy::Move(ChunkIndex chunk, List to) {
  Entry& entry = entries_[chunk.value];
  if (entry.list != kNone) {
    lists_.Remove(chunk);
    --size_[entry.list];
  }
  entry.list = to;
  lists_.PushBack(to, chunk);
  ++size_[to];
}

void ArcPolicy::Forget(List ghosts) {
  const ChunkIndex oldest = lists_.Front(ghosts);
  lists_.Remove(oldest);
  --size_[ghosts];
  entries_[oldest.value].list = kNone;
}

void ArcPolicy::Adapt(List ghosts, uint32_t room) {
  const double once = size_[kOnceGhost];
  const double again = size_[kAgainGhost];
  if (ghosts == kOnceGhost) {
    aim_ = std::min(aim_ + std::max(again / once, 1.0), static_cast<double>(room));
  } else {
    aim_ = std::max(aim_ - std::max(once / again, 1.0), 0.0);
  }
}

void ArcPolicy::Trim(uint32_t room) {
  while (size_[kOnceGhost] > 0 && size_[kOnce] + size_[kOnceGhost] >= room) Forget(kOnceGhost);
  const uint64_t most = uint64_t{room} * 2;
  while (size_[kAgainGhost] > 0 &&
         uint64_t{size_[kOnceGhost]} + size_[kAgainGhost] + room - 1 >= most) {
    Forget(kAgainGhost);
  }
}

void ArcPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  uint32_t left = size_[kOnce];
  ChunkIndex once = lists_.Front(kOnce);
  ChunkIndex again = lists_.Front(kAgain);
  while (once || again) {
    const bool from_once = once && (left > aim_ || !again);
    ChunkIndex& from = from_once ? once : again;
    if (take(from)) return;
    from = lists_.Next(from);
    left -= from_once;
  }
}

}  // namespace vramspan
