#include "runtime/placement/policies/cost.h"

#include <absl/types/span.h>

#include <algorithm>
#include <bit>
#include <tuple>

#include "runtime/base/grow.h"

namespace vramspan {
namespace {

// Prices are kept as an octave and the two binary digits that follow.
constexpr int kLeastOctave = 11;
constexpr uint32_t kHighestPrice = 63;

uint32_t PriceOf(uint64_t nanoseconds) {
  const int octave = std::bit_width(nanoseconds) - 1;
  if (octave < kLeastOctave) return 0;
  const uint64_t price =
      static_cast<uint64_t>(octave - kLeastOctave) * 4 + ((nanoseconds >> (octave - 2)) & 3);
  return static_cast<uint32_t>(std::min<uint64_t>(price, kHighestPrice));
}

}  // namespace

uint32_t CostPolicy::KindOf(const Entry& entry) {
  return ((entry.price << kFrequencyBits | entry.frequency) << 1) | (entry.returned ^ 1);
}

uint32_t CostPolicy::ValueOf(uint32_t kind) {
  const uint32_t frequency = (kind >> 1 & ((1u << kFrequencyBits) - 1)) + 1;
  const uint32_t price = kind >> (1 + kFrequencyBits);
  return std::min(((4 + price % 4) << (price / 4) >> 2) * frequency, kDueMask);
}

CostPolicy::Entry& CostPolicy::EntryOf(ChunkIndex chunk) {
  if (chunk.value >= entries_.size()) GrowTo(entries_, size_t{chunk.value} + 1);
  return entries_[chunk.value];
}

void CostPolicy::List(ChunkIndex chunk) {
  const uint32_t list = ListOf(chunk);
  Stamp(&entries_[chunk.value], list);
  filled_count_ += lists_.Empty(list);
  lists_.PushBack(list, chunk);
  filled_[list / 64] |= uint64_t{1} << (list % 64);
}

void CostPolicy::Stamp(Entry* entry, uint32_t list) {
  entry->due = (inflation_ + ValueOf(list % kKinds)) & kDueMask;
  entry->listed = ++listings_;
}

void CostPolicy::Unlist(ChunkIndex chunk, uint32_t list) {
  lists_.Remove(chunk);
  if (!lists_.Empty(list)) return;
  filled_[list / 64] &= ~(uint64_t{1} << (list % 64));
  --filled_count_;
}

template <typename F>
void CostPolicy::ForEachFilled(F f) const {
  for (uint32_t word = 0; word < filled_.size(); ++word) {
    for (uint64_t bits = filled_[word]; bits != 0; bits &= bits - 1) {
      if (f(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)))) return;
    }
  }
}

void CostPolicy::OnInsert(ChunkIndex chunk) {
  if (lists_.Contains(chunk)) return;
  EntryOf(chunk).returned = 0;
  List(chunk);
  ++present_;
}

void CostPolicy::OnUse(ChunkIndex chunk) {
  if (!lists_.Contains(chunk)) return;
  Entry& entry = entries_[chunk.value];
  const uint32_t before = ListOf(chunk);
  switch (loops_.OnUse(entries_, chunk, present_)) {
    case LoopWatch::Visit::kSame:
    case LoopWatch::Visit::kStayed:
      break;
    case LoopWatch::Visit::kFirst:
      entry.frequency = 0;
      break;
    case LoopWatch::Visit::kSoon:
      if (entry.frequency < (1u << kFrequencyBits) - 1) ++entry.frequency;
      break;
    case LoopWatch::Visit::kReturned:
      entry.frequency = std::max((entry.frequency + 1u) / 2, 1u) - 1;
      break;
  }
  // Most uses leave it in its list.
  if (const uint32_t list = ListOf(chunk); list == before) {
    Stamp(&entry, list);
    lists_.MoveToBack(list, chunk);
    return;
  }
  Unlist(chunk, before);
  List(chunk);
}

void CostPolicy::OnRemove(ChunkIndex chunk) {
  if (!lists_.Contains(chunk)) return;
  uint32_t first_due = kDueMask;
  ForEachFilled([&](uint32_t list) {
    first_due = std::min(first_due, DueIn(lists_.Front(list)));
    return first_due == 0;
  });
  inflation_ += first_due;
  Unlist(chunk, ListOf(chunk));
  LoopWatch::OnRemove(entries_[chunk.value]);
  --present_;
}

void CostPolicy::OnPrice(ChunkIndex chunk, uint32_t nanoseconds_saved_per_use, Bytes size) {
  const uint64_t granules = std::max<uint64_t>(size / kGranularity, 1);
  const uint32_t price = PriceOf(nanoseconds_saved_per_use / granules);
  Entry& entry = EntryOf(chunk);
  if (entry.price == price) return;
  const bool listed = lists_.Contains(chunk);
  if (listed) Unlist(chunk, ListOf(chunk));
  entry.price = price & kHighestPrice;
  if (listed) List(chunk);
}

void CostPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  cursors_.clear();
  ForEachFilled([&](uint32_t list) {
    cursors_.push_back(
        {.chunk = lists_.Front(list), .list = static_cast<uint16_t>(list), .turn = 0});
    return false;
  });
  if (loops_.looping()) {
    OfferLoop(take);
  } else {
    OfferByDue(/*alone=*/false, take);
  }
}

void CostPolicy::OfferAmong(absl::Span<const ChunkIndex> wanted,
                            absl::FunctionRef<bool(ChunkIndex)> take) {
  // Where every chunk has a price of its own there are as many lists: to go through all takes
  // longer than to put the few in order.
  if (loops_.looping() || wanted.size() > filled_count_) {
    OfferVictims(take);
    return;
  }
  cursors_.clear();
  for (const ChunkIndex chunk : wanted) {
    if (!lists_.Contains(chunk)) continue;
    cursors_.push_back({.chunk = chunk, .list = static_cast<uint16_t>(ListOf(chunk)), .turn = 0});
  }
  OfferByDue(/*alone=*/true, take);
}

uint64_t CostPolicy::TurnOf(const Cursor& cursor) const {
  // The classes of a kind are one LRU list. By the difference: the count wraps.
  const uint32_t listed = entries_[cursor.chunk.value].listed - listings_ - 1;
  return uint64_t{DueIn(cursor.chunk)} << 48 | uint64_t{cursor.kind()} << 32 | listed;
}

void CostPolicy::OfferByDue(bool alone, absl::FunctionRef<bool(ChunkIndex)> take) {
  // The lists are many and short where every chunk has a price of its own: a heap of their heads.
  const auto later = [](const Cursor& a, const Cursor& b) { return a.turn > b.turn; };
  for (Cursor& cursor : cursors_) cursor.turn = TurnOf(cursor);
  std::make_heap(cursors_.begin(), cursors_.end(), later);
  while (!cursors_.empty()) {
    std::pop_heap(cursors_.begin(), cursors_.end(), later);
    Cursor& first = cursors_.back();
    // Many of a list are due at once: go on with it for as long as it stays the first.
    do {
      if (take(first.chunk)) return;
      first.chunk = alone ? ChunkIndex() : lists_.Next(first.chunk);
      if (!first.chunk) break;
      first.turn = TurnOf(first);
    } while (cursors_.size() == 1 || first.turn < cursors_.front().turn);
    if (first.chunk) {
      std::push_heap(cursors_.begin(), cursors_.end(), later);
    } else {
      cursors_.pop_back();
    }
  }
}

void CostPolicy::OfferLoop(absl::FunctionRef<bool(ChunkIndex)> take) {
  for (Cursor& cursor : cursors_) cursor.turn = ValueOf(cursor.kind());
  const auto order = [](const Cursor& c) {
    return std::tuple(c.turn, c.list / kKinds, !WasReturn(c.kind()), c.kind());
  };
  std::sort(cursors_.begin(), cursors_.end(),
            [&](const Cursor& a, const Cursor& b) { return order(a) < order(b); });
  for (Cursor& cursor : cursors_) {
    ChunkIndex& c = cursor.chunk;
    for (; c && loops_.DroppedOut(entries_[c.value]); c = lists_.Next(c)) {
      if (take(c)) return;
    }
  }
  for (const Cursor& cursor : cursors_) {
    if (cursor.chunk && OfferList(cursor.list, cursor.chunk, take)) return;
  }
}

bool CostPolicy::OfferList(uint32_t list, ChunkIndex first,
                           absl::FunctionRef<bool(ChunkIndex)> take) {
  for (ChunkIndex c = lists_.Back(list);; c = lists_.Prev(c)) {
    if (take(c)) return true;
    if (c == first) return false;
  }
}

}  // namespace vramspan
