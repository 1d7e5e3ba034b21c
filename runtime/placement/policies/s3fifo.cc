#include "runtime/placement/policies/s3fifo.h"

#include "runtime/base/grow.h"

namespace vramspan {
namespace {

constexpr uint32_t kMostUses = 4;

// Whether the small queue has its share, a tenth, so that it gives the victim.
bool IsFull(uint32_t small, uint32_t present) { return uint64_t{small} * 10 >= present; }

// As many are remembered as the main queue would hold.
uint32_t MostGhosts(uint32_t present) { return static_cast<uint32_t>(uint64_t{present} * 9 / 10); }

}  // namespace

void S3FifoPolicy::OnInsert(ChunkIndex chunk) {
  if (Present(chunk)) return;
  if (chunk.value >= entries_.size()) GrowTo(entries_, size_t{chunk.value} + 1);
  Entry& entry = entries_[chunk.value];
  if (entry.queue == kGhost) {
    queues_.Remove(chunk);
    --ghosts_;
    entry.queue = kMain;
  } else {
    entry.queue = kSmall;
    ++small_;
  }
  entry.uses = 0;
  queues_.PushBack(entry.queue, chunk);
  ++present_;
}

void S3FifoPolicy::OnUse(ChunkIndex chunk) {
  if (!Present(chunk)) return;
  Entry& entry = entries_[chunk.value];
  if (entry.uses < kMostUses) ++entry.uses;
}

void S3FifoPolicy::OnRemove(ChunkIndex chunk) {
  if (!Present(chunk)) return;
  Advance();
  const uint32_t room = present_;
  --present_;
  queues_.Remove(chunk);
  if (entries_[chunk.value].queue == kSmall) {
    --small_;
    Remember(chunk, MostGhosts(room));
  } else {
    entries_[chunk.value].queue = kNone;
  }
}

void S3FifoPolicy::Advance() {
  // Each step is paid for by the use that it takes off.
  for (;;) {
    if (IsFull(small_, present_)) {
      const ChunkIndex c = queues_.Front(kSmall);
      if (Frequency(c) <= 1) return;
      entries_[c.value] = {.queue = kMain, .uses = 1};
      queues_.MoveToBack(kMain, c);
      --small_;
    } else {
      const ChunkIndex c = queues_.Front(kMain);
      if (Frequency(c) == 0) return;
      --entries_[c.value].uses;
      queues_.MoveToBack(kMain, c);
    }
  }
}

void S3FifoPolicy::Remember(ChunkIndex chunk, uint32_t most) {
  entries_[chunk.value].queue = kGhost;
  queues_.PushBack(kGhost, chunk);
  for (++ghosts_; ghosts_ > most; --ghosts_) {
    const ChunkIndex oldest = queues_.Front(kGhost);
    queues_.Remove(oldest);
    entries_[oldest.value].queue = kNone;
  }
}

bool S3FifoPolicy::OfferUsed(ChunkIndex c, uint32_t frequency,
                             absl::FunctionRef<bool(ChunkIndex)> take) {
  for (; c; c = queues_.Next(c)) {
    if (Frequency(c) == frequency && take(c)) return true;
  }
  return false;
}

void S3FifoPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  // As far as no chunk of the main queue gets another turn: the victims in their order.
  uint32_t small = small_;
  uint32_t present = present_;
  ChunkIndex s = queues_.Front(kSmall);
  ChunkIndex m = queues_.Front(kMain);
  for (;;) {
    if (s && IsFull(small, present)) {
      const ChunkIndex c = s;
      s = queues_.Next(s);
      --small;
      if (Frequency(c) > 1) continue;  // It would move to the main queue.
      if (take(c)) return;
    } else {
      while (m && Frequency(m) != 0) m = queues_.Next(m);
      if (!m) break;
      if (take(m)) return;
      m = queues_.Next(m);
    }
    --present;
  }
  // What would have moved, then the main queue round by round, then what is left of the small one.
  for (ChunkIndex c = queues_.Front(kSmall); c != s; c = queues_.Next(c)) {
    if (Frequency(c) > 1 && take(c)) return;
  }
  for (uint32_t n = 1; n < kMostUses; ++n) {
    if (OfferUsed(queues_.Front(kMain), n, take)) return;
  }
  for (uint32_t n = 0; n < kMostUses; ++n) {
    if (OfferUsed(s, n, take)) return;
  }
}

}  // namespace vramspan
