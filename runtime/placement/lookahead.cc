#include "runtime/placement/lookahead.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/grow.h"
#include "runtime/base/log.h"

namespace vramspan {
namespace {

// Works that may have gone in a row: those of several streams end in any order.
constexpr size_t kMostGone = 16;
// Needs that have gone, beside as many that have not, before all is looked at anew.
constexpr size_t kMostStale = 1024;
// Works that have gone from the front, beside as many that have not, before their places are taken.
constexpr size_t kMostBehind = 256;

Need::Place PlaceOf(const ChunkView& view, bool explicit_request) {
  const Claim claim =
      explicit_request && view.claim == Claim::kNone ? Claim::kOrdinary : view.claim;
  if (!view.movable) return Need::Place::kFixed;
  if (view.on_device && claim == Claim::kKeep) return Need::Place::kFixed;
  if (view.on_device && view.busy) return Need::Place::kBusy;
  if (view.on_device) {
    return claim == Claim::kNone ? Need::Place::kUnclaimed : Need::Place::kIdle;
  }
  if (!explicit_request && (view.prefer_host || claim == Claim::kNone))
    return Need::Place::kInPlace;
  return view.busy ? Need::Place::kPending : Need::Place::kMissing;
}

// All that a view says beside the size, as a number.
uint8_t Facts(const ChunkView& view) {
  return static_cast<uint8_t>(view.on_device | view.busy << 1 | view.movable << 2 |
                              view.prefer_host << 3 | static_cast<int>(view.claim) << 4 |
                              view.incoming << 6);
}

// Whether a later explicit request may claim it.
bool Claimable(Need::Place place) {
  return place == Need::Place::kInPlace || place == Need::Place::kUnclaimed;
}

}  // namespace

void Lookahead::Scan(const PlanRequest& request, const ResidencyView& residency) {
  const absl::Span<const QueuedWork> queue = request.queue;
  const uint64_t horizon = request.horizon.value;
  const size_t least = size_t{request.released} + 1;
  residency_ = &residency;
  if (needs_.size() > 2 * live_ + kMostStale) Clear();
  if (request.queue_version == 0 || request.queue_version != queue_version_) {
    const bool told = request.queue_since != 0 && request.queue_since == queue_version_;
    told ? KeepTold(request) : KeepBeginning(queue);
  }
  queue_version_ = request.queue_version;
  VS_DCHECK(works() <= queue.size());
  Refresh();
  while (works() > least && seen_ - works_[window_.back().work].seen > horizon) {
    Drop(works() - 1, 1);
  }
  while (works() < queue.size() && (seen_ <= horizon || works() < least)) Push(queue[works()]);
  FindLacks(request.released);
}

void Lookahead::KeepBeginning(absl::Span<const QueuedWork> queue) {
  size_t kept = 0;
  for (; kept < std::min<size_t>(queue.size(), works()); ++kept) {
    const size_t end = std::min<size_t>(works(), kept + kMostGone);
    size_t at = kept;
    while (at < end && !IsSame(window_[begin_ + at], queue[kept])) ++at;
    if (at == end) break;
    if (at != kept) Drop(kept, at - kept);
  }
  Drop(kept, works() - kept);
}

void Lookahead::KeepTold(const PlanRequest& request) {
  const size_t gone = std::min<size_t>(request.queue_gone, works());
  const size_t kept = std::min(request.queue_same, works() - gone);
  Drop(gone + kept, works() - gone - kept);
  Drop(0, gone);
  for (size_t i = 0; i < kept; ++i) VS_DCHECK(IsSame(window_[begin_ + i], request.queue[i]));
}

bool Lookahead::NamesTheSame(const Work& work, absl::Span<const ChunkIndex> chunks) const {
  return work.needs == chunks.size() &&
         (work.needs == 0 ||
          std::memcmp(&ids_[work.first_need], chunks.data(), work.needs * sizeof(ChunkIndex)) == 0);
}

void Lookahead::Push(const QueuedWork& queued) {
  if (spare_.empty()) {
    spare_.push_back(static_cast<uint32_t>(works_.size()));
    works_.emplace_back();
  }
  const uint32_t work = spare_.back();
  spare_.pop_back();
  const size_t place = window_.size();
  window_.push_back({work, queued.explicit_request, queued.version, queued.duration});
  own_.emplace_back();
  start_.push_back(start_.back() + queued.duration);
  if (place / 64 >= idle_.size()) {
    idle_.push_back(0);
    lacking_.push_back(0);
  }
  // One without needs has no place among them: what is behind it may go.
  const size_t first = queued.chunks.empty() ? 0 : needs_.size();
  works_[work] = {.first_need = static_cast<uint32_t>(first),
                  .needs = static_cast<uint32_t>(queued.chunks.size()),
                  .at = static_cast<uint32_t>(place),
                  .explicit_request = queued.explicit_request};
  live_ += queued.chunks.size();
  ids_.insert(ids_.end(), queued.chunks.begin(), queued.chunks.end());
  for (const ChunkIndex chunk : queued.chunks) {
    const auto at = static_cast<uint32_t>(needs_.size());
    needs_.push_back({.chunk = chunk, .work = work});
    if (!chunk) continue;
    if (chunk.value >= mentions_.size()) GrowTo(mentions_, size_t{chunk.value} + 1);
    Mentions& m = mentions_[chunk.value];
    needs_[at].before = m.last;
    (m.last == Need::kNone ? m.first : needs_[m.last].after) = at;
    m.last = at;
    if (m.first == at) {
      Count(chunk);
    } else if (queued.explicit_request) {
      Recount(chunk);
    }
  }
}

void Lookahead::Drop(size_t from, size_t count) {
  // The last first, so that a chunk's next use is not counted only to go as well.
  for (size_t i = begin_ + from + count; i-- > begin_ + from;) {
    const Work& work = works_[window_[i].work];
    for (uint32_t at = work.first_need + work.needs; at-- > work.first_need;) {
      const Need& need = needs_[at];
      if (!need.chunk) continue;
      Mentions& m = mentions_[need.chunk.value];
      const bool counts = m.first == at || m.counts == at;
      if (counts) Uncount(need.chunk);
      (need.before == Need::kNone ? m.first : needs_[need.before].after) = need.after;
      (need.after == Need::kNone ? m.last : needs_[need.after].before) = need.before;
      if (counts) Count(need.chunk);
    }
    live_ -= work.needs;
    if (work.first_need + work.needs == needs_.size()) {
      needs_.resize(work.first_need);
      ids_.resize(work.first_need);
    }
    spare_.push_back(window_[i].work);
  }
  if (count != 0) CloseGap(from, count);
}

void Lookahead::CloseGap(size_t from, size_t count) {
  if (from + count == works()) {
    window_.resize(begin_ + from);
    own_.resize(begin_ + from);
    start_.resize(begin_ + from + 1);
    return;
  }
  const auto erase = [](auto& entries, size_t first, size_t number) {
    const auto begin = entries.begin() + static_cast<ptrdiff_t>(first);
    entries.erase(begin, begin + static_cast<ptrdiff_t>(number));
  };
  if (from == 0) {
    begin_ += count;
    if (begin_ < kMostBehind + works()) return;
  } else {
    erase(window_, begin_ + from, count);
    erase(own_, begin_ + from, count);
  }
  erase(window_, 0, begin_);
  erase(own_, 0, begin_);
  begin_ = 0;
  start_.assign(1, 0);
  idle_.assign(window_.size() / 64 + 1, 0);
  lacking_.assign(window_.size() / 64 + 1, 0);
  for (size_t i = 0; i < window_.size(); ++i) {
    works_[window_[i].work].at = static_cast<uint32_t>(i);
    start_.push_back(start_.back() + window_[i].duration);
    Mark(i);
  }
}

void Lookahead::Clear() {
  for (size_t w = begin_; w < window_.size(); ++w) {
    const Work& work = works_[window_[w].work];
    for (uint32_t i = 0; i < work.needs; ++i) {
      const ChunkIndex chunk = ids_[work.first_need + i];
      if (!chunk) continue;
      Mentions& m = mentions_[chunk.value];
      if (m.counts != Need::kNone && m.there) ++unnamed_;
      m = {.there = m.there};
    }
    spare_.push_back(window_[w].work);
  }
  needs_.clear();
  ids_.clear();
  window_.clear();
  own_.clear();
  begin_ = 0;
  start_.assign(1, 0);
  idle_.clear();
  lacking_.clear();
  live_ = 0;
  seen_ = busy_ = idle_bytes_ = 0;
  unclaimed_ = pending_ = 0;
}

void Lookahead::Refresh() {
  if (const auto changed = residency_->Changed(); changed.has_value()) {
    for (const ChunkIndex chunk : *changed) LookAt(chunk);
    VS_DCHECK(absl::c_all_of(needs_, [this](const Need& need) {
      return need.place == Need::Place::kAgain || IsAsItWas(need);
    }));
    return;
  }
  told_ = false;
  for (size_t w = begin_; w < window_.size(); ++w) {
    const Work& work = works_[window_[w].work];
    const Need* need = needs_.data() + work.first_need;
    for (const Need* const end = need + work.needs; need != end; ++need) {
      if (need->place != Need::Place::kAgain && !IsAsItWas(*need)) Recount(need->chunk);
    }
  }
}

void Lookahead::LookAt(ChunkIndex chunk) {
  if (chunk.value >= mentions_.size()) GrowTo(mentions_, size_t{chunk.value} + 1);
  Mentions& m = mentions_[chunk.value];
  const ChunkView view = residency_->Get(chunk);
  const bool there = view.on_device && view.movable;
  if (Names(chunk)) {
    m.there = there;
    if (IsAs(needs_[m.counts], view)) return;
    Uncount(chunk);
    Count(chunk, view);
  } else if (there != m.there) {
    m.there = there;
    there ? ++unnamed_ : --unnamed_;
  }
}

bool Lookahead::IsAs(const Need& need, const ChunkView& view) {
  return view.size.value == need.size && Facts(view) == need.facts;
}

bool Lookahead::IsAsItWas(const Need& need) const {
  return IsAs(need, residency_->Get(need.chunk));
}

void Lookahead::Recount(ChunkIndex chunk) {
  Uncount(chunk);
  Count(chunk);
}

void Lookahead::Count(ChunkIndex chunk) {
  if (mentions_[chunk.value].first != Need::kNone) Count(chunk, residency_->Get(chunk));
}

void Lookahead::Count(ChunkIndex chunk, const ChunkView& view) {
  Mentions& m = mentions_[chunk.value];
  if (m.there) --unnamed_;
  uint32_t at = m.first;
  Need* need = &needs_[at];
  need->size = view.size.value;
  works_[need->work].seen += need->size;
  seen_ += need->size;
  Need::Place place = PlaceOf(view, works_[need->work].explicit_request);
  if (Claimable(place)) {
    uint32_t explicit_request = at;
    while (explicit_request != Need::kNone &&
           !works_[needs_[explicit_request].work].explicit_request) {
      explicit_request = needs_[explicit_request].after;
    }
    if (explicit_request != Need::kNone) {
      at = explicit_request;
      need = &needs_[at];
      need->size = view.size.value;
      works_[need->work].seen += need->size;
      seen_ += need->size;
      place = PlaceOf(view, /*explicit_request=*/true);
    }
  }
  m.counts = at;
  need->place = place;
  need->claim = view.claim;
  need->incoming = view.incoming;
  need->facts = Facts(view);
  Add(*need, 1);
}

void Lookahead::Uncount(ChunkIndex chunk) {
  Mentions& m = mentions_[chunk.value];
  if (m.counts == Need::kNone) return;
  if (m.there) ++unnamed_;
  Need& need = needs_[m.counts];
  Add(need, ~uint64_t{0});
  need.place = Need::Place::kAgain;
  works_[need.work].seen -= need.size;
  seen_ -= need.size;
  if (m.counts != m.first) {
    works_[needs_[m.first].work].seen -= needs_[m.first].size;
    seen_ -= needs_[m.first].size;
  }
  m.counts = Need::kNone;
}

void Lookahead::Add(const Need& need, uint64_t sign) {
  const size_t at = works_[need.work].at;
  Sums& own = own_[at];
  const uint64_t size = sign * need.size;
  switch (need.place) {
    case Need::Place::kMissing:
      own.missing += size;
      break;
    case Need::Place::kIdle:
      own.idle += size;
      idle_bytes_ += size;
      break;
    case Need::Place::kBusy:
      busy_ += size;
      if (!need.incoming) return;
      own.on_the_way += size;
      break;
    case Need::Place::kPending:
      own.on_the_way += size;
      pending_ += static_cast<uint32_t>(sign);
      break;
    case Need::Place::kUnclaimed:
      unclaimed_ += static_cast<uint32_t>(sign);
      return;
    case Need::Place::kInPlace:
    case Need::Place::kFixed:
    case Need::Place::kAgain:
      return;
  }
  Mark(at);
}

void Lookahead::Mark(size_t at) {
  const Sums& own = own_[at];
  const uint64_t bit = uint64_t{1} << at % 64;
  const auto mark = [&](uint64_t* word, bool is) { *word = is ? *word | bit : *word & ~bit; };
  mark(&idle_[at / 64], own.idle != 0);
  mark(&lacking_[at / 64], (own.missing | own.on_the_way) != 0);
}

void Lookahead::FindLacks(uint32_t released) {
  lacks_.clear();
  most_missing_ = 0;
  uint64_t missing = 0, on_the_way = 0;
  for (size_t word = begin_ / 64; word < lacking_.size(); ++word) {
    for (uint64_t bits = lacking_[word]; bits != 0; bits &= bits - 1) {
      const size_t at = word * 64 + static_cast<size_t>(std::countr_zero(bits));
      const Sums& own = own_[at];
      missing += own.missing;
      // What released work needs is busy with that.
      if (at - begin_ >= released) on_the_way += own.on_the_way;
      most_missing_ = std::max(most_missing_, own.missing);
      lacks_.push_back({.work = static_cast<uint32_t>(at - begin_),
                        .misses = own.missing != 0,
                        .missing = missing,
                        .on_the_way = on_the_way});
    }
  }
  VS_DCHECK(SumsAreRight());
}

bool Lookahead::SumsAreRight() const {
  uint64_t idle = 0, busy = 0, missing = 0;
  uint32_t unclaimed = 0, pending = 0;
  for (size_t at = begin_; at < window_.size(); ++at) {
    const Work& work = works_[window_[at].work];
    Sums own;
    for (uint32_t i = 0; i < work.needs; ++i) {
      const Need& need = needs_[work.first_need + i];
      if (need.place == Need::Place::kMissing) own.missing += need.size;
      if (need.place == Need::Place::kIdle) own.idle += need.size;
      if (need.place == Need::Place::kBusy) busy += need.size;
      if (need.place == Need::Place::kPending) own.on_the_way += need.size;
      if (need.place == Need::Place::kBusy && need.incoming) own.on_the_way += need.size;
      unclaimed += need.place == Need::Place::kUnclaimed;
      pending += need.place == Need::Place::kPending;
    }
    const auto marked = [&](const std::vector<uint64_t>& bits) {
      return bits[at / 64] >> at % 64 & 1;
    };
    if (own.missing != own_[at].missing || own.idle != own_[at].idle ||
        own.on_the_way != own_[at].on_the_way || work.at != at ||
        marked(idle_) != (own.idle != 0) ||
        marked(lacking_) != ((own.missing | own.on_the_way) != 0) ||
        start_[at + 1] - start_[at] != window_[at].duration) {
      return false;
    }
    idle += own.idle;
    missing += own.missing;
  }
  return idle == idle_bytes_ && busy == busy_ && missing == this->missing() &&
         unclaimed == unclaimed_ && pending == pending_ && start_.size() == window_.size() + 1;
}

size_t Lookahead::LacksBefore(uint32_t work) const {
  const auto it = absl::c_lower_bound(
      lacks_, work, [](const Lack& lack, uint32_t before) { return lack.work < before; });
  return static_cast<size_t>(it - lacks_.begin());
}

uint64_t Lookahead::IdleFrom(uint32_t work) const {
  uint64_t before = 0;
  const size_t end = begin_ + work;
  for (size_t word = begin_ / 64; word * 64 < end && word < idle_.size(); ++word) {
    for (uint64_t bits = idle_[word]; bits != 0; bits &= bits - 1) {
      const size_t at = word * 64 + static_cast<size_t>(std::countr_zero(bits));
      if (at >= end) break;
      before += own_[at].idle;
    }
  }
  return idle_bytes_ - before;
}

int64_t Lookahead::LastWithIdle(int64_t work, int64_t after) const {
  if (work <= after) return after;
  const auto begin = static_cast<int64_t>(begin_);
  const auto last = static_cast<size_t>(begin + work);
  for (size_t word = last / 64;; --word) {
    uint64_t bits = idle_[word];
    if (word == last / 64) bits &= ~uint64_t{0} >> (63 - last % 64);
    if (bits != 0) {
      const size_t at = word * 64 + 63 - static_cast<size_t>(std::countl_zero(bits));
      return std::max(after, static_cast<int64_t>(at) - begin);
    }
    if (word * 64 <= begin_) return after;
  }
}

}  // namespace vramspan
