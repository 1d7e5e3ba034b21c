#include "runtime/placement/lookahead.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/grow.h"
#include "runtime/base/log.h"

namespace vramspan {
namespace {

// Works that may have gone in a row: those of several streams end in any order.
constexpr size_t kMostGone = 16;
// Needs that have gone, beside as many that have not, before all is looked at anew.
constexpr size_t kMostStale = 1024;

Need::Place PlaceOf(const ChunkView& view, bool by_hand) {
  const Claim claim = by_hand && view.claim == Claim::kNone ? Claim::kOrdinary : view.claim;
  if (!view.movable) return Need::Place::kFixed;
  if (view.on_device && claim == Claim::kKeep) return Need::Place::kFixed;
  if (view.on_device && view.busy) return Need::Place::kBusy;
  if (view.on_device) {
    return claim == Claim::kNone ? Need::Place::kUnclaimed : Need::Place::kIdle;
  }
  if (!by_hand && (view.prefer_host || claim == Claim::kNone)) return Need::Place::kInPlace;
  return view.busy ? Need::Place::kUnsettled : Need::Place::kMissing;
}

// All that a view says beside the size, as a number.
uint8_t Facts(const ChunkView& view) {
  return static_cast<uint8_t>(view.on_device | view.busy << 1 | view.movable << 2 |
                              view.prefer_host << 3 | static_cast<int>(view.claim) << 4 |
                              view.coming << 6);
}

// Whether later work by hand may claim it.
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
  if (request.queue_version != queue_version_ || queue_version_ == 0) KeepBeginning(queue);
  queue_version_ = request.queue_version;
  VS_DCHECK(window_.size() <= queue.size());
  Refresh();
  while (window_.size() > least && seen_ - works_[window_.back().work].seen > horizon) {
    Drop(window_.size() - 1, 1);
  }
  while (window_.size() < queue.size() && (seen_ <= horizon || window_.size() < least)) {
    Push(queue[window_.size()]);
  }
  Sum(request.released);
}

void Lookahead::KeepBeginning(absl::Span<const QueuedWork> queue) {
  size_t kept = 0;
  for (; kept < std::min(queue.size(), window_.size()); ++kept) {
    const size_t end = std::min(window_.size(), kept + kMostGone);
    size_t at = kept;
    while (at < end && !IsSame(window_[at], queue[kept])) ++at;
    if (at == end) break;
    if (at != kept) Drop(kept, at - kept);
  }
  Drop(kept, window_.size() - kept);
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
  window_.push_back({work, queued.by_hand, queued.version, queued.duration});
  // One without needs has no place among them: what is behind it may go.
  const size_t first = queued.chunks.empty() ? 0 : needs_.size();
  works_[work] = {.first_need = static_cast<uint32_t>(first),
                  .needs = static_cast<uint32_t>(queued.chunks.size()),
                  .by_hand = queued.by_hand,
                  .own = {.duration = queued.duration}};
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
    } else if (queued.by_hand) {
      Recount(chunk);
    }
  }
}

void Lookahead::Drop(size_t from, size_t count) {
  // The last first, so that a chunk's next use is not counted only to go as well.
  for (size_t i = from + count; i-- > from;) {
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
  const auto begin = window_.begin() + static_cast<ptrdiff_t>(from);
  window_.erase(begin, begin + static_cast<ptrdiff_t>(count));
}

void Lookahead::Clear() {
  for (const Seen& seen : window_) {
    const Work& work = works_[seen.work];
    for (uint32_t i = 0; i < work.needs; ++i) {
      const ChunkIndex chunk = ids_[work.first_need + i];
      if (!chunk) continue;
      Mentions& m = mentions_[chunk.value];
      if (m.counts != Need::kNone && m.there) ++unnamed_;
      m = {.there = m.there};
    }
    spare_.push_back(seen.work);
  }
  needs_.clear();
  ids_.clear();
  window_.clear();
  live_ = 0;
  seen_ = busy_ = 0;
  unclaimed_ = 0;
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
  for (const Seen& seen : window_) {
    const Need* need = needs_.data() + works_[seen.work].first_need;
    for (const Need* const end = need + works_[seen.work].needs; need != end; ++need) {
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
    Recount(chunk);
  } else if (there != m.there) {
    m.there = there;
    there ? ++unnamed_ : --unnamed_;
  }
}

bool Lookahead::IsAsItWas(const Need& need) const {
  const ChunkView view = residency_->Get(need.chunk);
  return view.size.value == need.size && Facts(view) == need.facts;
}

void Lookahead::Recount(ChunkIndex chunk) {
  Uncount(chunk);
  Count(chunk);
}

void Lookahead::Count(ChunkIndex chunk) {
  Mentions& m = mentions_[chunk.value];
  if (m.first == Need::kNone) return;
  if (m.there) --unnamed_;
  const ChunkView view = residency_->Get(chunk);
  uint32_t at = m.first;
  Need* need = &needs_[at];
  need->size = view.size.value;
  works_[need->work].seen += need->size;
  seen_ += need->size;
  Need::Place place = PlaceOf(view, works_[need->work].by_hand);
  if (Claimable(place)) {
    uint32_t by_hand = at;
    while (by_hand != Need::kNone && !works_[needs_[by_hand].work].by_hand) {
      by_hand = needs_[by_hand].after;
    }
    if (by_hand != Need::kNone) {
      at = by_hand;
      need = &needs_[at];
      need->size = view.size.value;
      works_[need->work].seen += need->size;
      seen_ += need->size;
      place = PlaceOf(view, /*by_hand=*/true);
    }
  }
  m.counts = at;
  need->place = place;
  need->claim = view.claim;
  need->coming = view.coming;
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
  Sums& own = works_[need.work].own;
  const uint64_t size = sign * need.size;
  switch (need.place) {
    case Need::Place::kMissing:
      own.missing += size;
      break;
    case Need::Place::kIdle:
      own.idle += size;
      break;
    case Need::Place::kBusy:
      busy_ += size;
      if (need.coming) own.on_the_way += size;
      break;
    case Need::Place::kUnsettled:
      own.on_the_way += size;
      break;
    case Need::Place::kUnclaimed:
      unclaimed_ += static_cast<uint32_t>(sign);
      break;
    case Need::Place::kInPlace:
    case Need::Place::kFixed:
    case Need::Place::kAgain:
      break;
  }
}

void Lookahead::Sum(uint32_t released) {
  before_.resize(window_.size() + 1);
  most_missing_ = 0;
  Sums sum;
  for (size_t i = 0; i < window_.size(); ++i) {
    before_[i] = sum;
    const Sums& own = works_[window_[i].work].own;
    sum.duration += own.duration;
    sum.missing += own.missing;
    sum.idle += own.idle;
    // What released work needs is busy with that.
    if (i >= released) sum.on_the_way += own.on_the_way;
    most_missing_ = std::max(most_missing_, own.missing);
  }
  before_[window_.size()] = sum;
}

}  // namespace vramspan
