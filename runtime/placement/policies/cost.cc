#include "runtime/placement/policies/cost.h"

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

uint32_t CostPolicy::ListOf(const Entry& entry) {
  return ((entry.price << kFrequencyBits | entry.frequency) << 1) | (entry.returned ^ 1);
}

uint32_t CostPolicy::ValueOf(uint32_t list) {
  const uint32_t frequency = (list >> 1 & ((1u << kFrequencyBits) - 1)) + 1;
  const uint32_t price = list >> (1 + kFrequencyBits);
  return std::min(((4 + price % 4) << (price / 4) >> 2) * frequency, kDueMask);
}

CostPolicy::Entry& CostPolicy::EntryOf(ChunkIndex chunk) {
  if (chunk.value >= entries_.size()) GrowTo(entries_, size_t{chunk.value} + 1);
  return entries_[chunk.value];
}

void CostPolicy::List(ChunkIndex chunk) {
  Entry& entry = entries_[chunk.value];
  const uint32_t list = ListOf(entry);
  entry.due = (inflation_ + ValueOf(list)) & kDueMask;
  lists_.PushBack(list, chunk);
  filled_[list / 64] |= uint64_t{1} << (list % 64);
}

void CostPolicy::Unlist(ChunkIndex chunk) {
  const uint32_t list = ListOf(entries_[chunk.value]);
  lists_.Remove(chunk);
  if (lists_.Empty(list)) filled_[list / 64] &= ~(uint64_t{1} << (list % 64));
}

template <typename F>
void CostPolicy::ForEachFilled(F f) const {
  for (uint32_t word = 0; word < filled_.size(); ++word) {
    for (uint64_t bits = filled_[word]; bits != 0; bits &= bits - 1) {
      f(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
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
  Unlist(chunk);
  Entry& entry = entries_[chunk.value];
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
  List(chunk);
}

void CostPolicy::OnRemove(ChunkIndex chunk) {
  if (!lists_.Contains(chunk)) return;
  uint32_t first_due = kDueMask;
  ForEachFilled([&](uint32_t list) { first_due = std::min(first_due, DueIn(lists_.Front(list))); });
  inflation_ += first_due;
  Unlist(chunk);
  LoopWatch::OnRemove(entries_[chunk.value]);
  --present_;
}

void CostPolicy::OnPrice(ChunkIndex chunk, uint32_t nanoseconds_saved_per_use, Bytes size) {
  const uint64_t granules = std::max<uint64_t>(size / kGranularity, 1);
  const uint32_t price = PriceOf(nanoseconds_saved_per_use / granules);
  Entry& entry = EntryOf(chunk);
  if (entry.price == price) return;
  const bool listed = lists_.Contains(chunk);
  if (listed) Unlist(chunk);
  entry.price = price & kHighestPrice;
  if (listed) List(chunk);
}

uint32_t CostPolicy::Heads(Cursors* cursors) const {
  uint32_t count = 0;
  ForEachFilled([&](uint32_t list) {
    (*cursors)[count++] = {
        .chunk = lists_.Front(list), .list = static_cast<uint16_t>(list), .rank = 0};
  });
  return count;
}

void CostPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  Cursors cursors;
  const uint32_t count = Heads(&cursors);
  if (loops_.looping()) {
    OfferLoop(&cursors, count, take);
  } else {
    OfferByDue(&cursors, count, take);
  }
}

void CostPolicy::OfferByDue(Cursors* cursors, uint32_t count,
                            absl::FunctionRef<bool(ChunkIndex)> take) {
  const auto before = [](const Cursor& a, const Cursor& b) {
    return std::tie(a.rank, a.list) < std::tie(b.rank, b.list);
  };
  for (uint32_t i = 0; i < count; ++i) {
    (*cursors)[i].rank = static_cast<uint16_t>(DueIn((*cursors)[i].chunk));
  }
  while (count > 0) {
    uint32_t first = 0;
    uint32_t second = count;
    for (uint32_t i = 1; i < count; ++i) {
      if (before((*cursors)[i], (*cursors)[first])) {
        second = first;
        first = i;
      } else if (second == count || before((*cursors)[i], (*cursors)[second])) {
        second = i;
      }
    }
    // Many of a list are due at once: go on with it for as long as it stays the first.
    Cursor& cursor = (*cursors)[first];
    do {
      if (take(cursor.chunk)) return;
      cursor.chunk = lists_.Next(cursor.chunk);
      if (!cursor.chunk) break;
      cursor.rank = static_cast<uint16_t>(DueIn(cursor.chunk));
    } while (second == count || before(cursor, (*cursors)[second]));
    if (!cursor.chunk) cursor = (*cursors)[--count];
  }
}

void CostPolicy::OfferLoop(Cursors* cursors, uint32_t count,
                           absl::FunctionRef<bool(ChunkIndex)> take) {
  for (uint32_t i = 0; i < count; ++i) {
    (*cursors)[i].rank = static_cast<uint16_t>(ValueOf((*cursors)[i].list));
  }
  std::sort(cursors->begin(), cursors->begin() + count, [](const Cursor& a, const Cursor& b) {
    return std::tuple(a.rank, !WasReturn(a.list), a.list) <
           std::tuple(b.rank, !WasReturn(b.list), b.list);
  });
  for (uint32_t i = 0; i < count; ++i) {
    ChunkIndex& c = (*cursors)[i].chunk;
    for (; c && loops_.DroppedOut(entries_[c.value]); c = lists_.Next(c)) {
      if (take(c)) return;
    }
  }
  // Those whose visit may go on come last.
  for (const bool in_use : {false, true}) {
    for (uint32_t i = 0; i < count; ++i) {
      const Cursor& cursor = (*cursors)[i];
      if (cursor.chunk && OfferList(cursor.list, cursor.chunk, in_use, take)) return;
    }
  }
}

bool CostPolicy::OfferList(uint32_t list, ChunkIndex first, bool in_use,
                           absl::FunctionRef<bool(ChunkIndex)> take) {
  if (!WasReturn(list)) {
    if (in_use) return false;
    for (ChunkIndex c = first; c; c = lists_.Next(c)) {
      if (take(c)) return true;
    }
    return false;
  }
  for (ChunkIndex c = lists_.Back(list);; c = lists_.Prev(c)) {
    if (loops_.InUse(entries_[c.value]) == in_use && take(c)) return true;
    if (c == first) return false;
  }
}

}  // namespace vramspan
