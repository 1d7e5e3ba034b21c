#include "runtime/placement/lookahead.h"

#include <absl/algorithm/container.h>

#include <algorithm>

#include "runtime/base/grow.h"
#include "runtime/base/log.h"

namespace vramspan {
namespace {

// Needs that have gone, beside as many that have not, before all is looked at anew.
constexpr size_t kMostStale = 4096;
// Works that have gone from the front, beside as many that have not, before their places are taken.
constexpr size_t kMostBehind = 256;

Need::Place PlaceOf(const SeenChunk& seen, bool explicit_request) {
  const Claim claim =
      explicit_request && seen.claim() == Claim::kNone ? Claim::kOrdinary : seen.claim();
  if (!seen.movable()) return Need::Place::kFixed;
  if (seen.on_device() && claim == Claim::kKeep) return Need::Place::kFixed;
  if (seen.on_device() && seen.busy()) return Need::Place::kBusy;
  if (seen.on_device()) {
    return claim == Claim::kNone ? Need::Place::kUnclaimed : Need::Place::kIdle;
  }
  if (!explicit_request && (seen.prefer_host() || claim == Claim::kNone))
    return Need::Place::kInPlace;
  return seen.busy() ? Need::Place::kPending : Need::Place::kMissing;
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
    Follow(request);
  }
  queue_version_ = request.queue_version;
  VS_DCHECK(works() <= queue.size());
  Refresh();
  while (works() > least && seen_ - works_[window_.back().work].seen > horizon) {
    Drop(works() - 1, 1);
  }
  while (works() < queue.size() && (seen_ <= horizon || works() < least)) Push(queue[works()]);
  sums_.Settle(begin_);
  // What released work needs is busy with that.
  released_on_the_way_ = sums_.Before(begin_ + std::min(request.released, works())).on_the_way;
  VS_DCHECK(SumsAreRight());
}

void Lookahead::Push(const QueuedWork& queued) {
  const size_t place = window_.size();
  const uint32_t work = NewWork(queued);
  window_.push_back(Seen::As(work, queued));
  sums_.Push();
  start_.push_back(start_.back() + queued.duration);
  works_[work].at = static_cast<uint32_t>(place);
  Link(works_[work]);
}

uint32_t Lookahead::NewWork(const QueuedWork& queued) {
  const size_t count = queued.chunks.size();
  if (count >= spare_.size()) spare_.resize(count + 1, Need::kNone);
  uint32_t index = spare_[count];
  if (index == Need::kNone) {
    index = static_cast<uint32_t>(works_.size());
    works_.push_back({.first_need = static_cast<uint32_t>(needs_.size()),
                      .needs = static_cast<uint32_t>(count)});
    needs_.resize(needs_.size() + count);
    ids_.resize(needs_.size());
  } else {
    spare_[count] = works_[index].at;
  }
  Work& work = works_[index];
  work.explicit_request = queued.explicit_request;
  work.seen = 0;
  live_ += count;
  Need* need = needs_.data() + work.first_need;
  ChunkIndex* id = ids_.data() + work.first_need;
  for (const ChunkIndex chunk : queued.chunks) {
    *need++ = {.chunk = chunk, .work = index};
    *id++ = chunk;
  }
  return index;
}

void Lookahead::Link(const Work& work) {
  for (uint32_t at = work.first_need; at != work.first_need + work.needs; ++at) {
    Need& need = needs_[at];
    const ChunkIndex chunk = need.chunk;
    if (!chunk) continue;
    if (chunk.value >= mentions_.size()) GrowTo(mentions_, size_t{chunk.value} + 1);
    Mentions& m = mentions_[chunk.value];
    uint32_t before = m.last, after = Need::kNone;
    while (before != Need::kNone && works_[needs_[before].work].at > work.at) {
      after = before;
      before = needs_[before].before;
    }
    const bool counts = before == Need::kNone || work.explicit_request;
    if (m.first == Need::kNone) {
      unnamed_.Remove(chunk, m.seen);
      // Where nobody tells, all that was seen of it may be old.
      if (!m.seen.known() || !told_) {
        const SeenChunk seen(residency_->Get(chunk));
        empty_.Saw(chunk, m.seen, seen);
        m.seen = seen;
      }
    } else if (counts) {
      Uncount(chunk);
    }
    need.before = before;
    need.after = after;
    (before == Need::kNone ? m.first : needs_[before].after) = at;
    (after == Need::kNone ? m.last : needs_[after].before) = at;
    if (counts) Count(chunk);
  }
}

void Lookahead::Forget(uint32_t index) {
  Work& work = works_[index];
  for (uint32_t at = work.first_need + work.needs; at-- > work.first_need;) {
    const Need& need = needs_[at];
    if (!need.chunk) continue;
    Mentions& m = mentions_[need.chunk.value];
    const bool counts = m.first == at || m.counts == at;
    if (counts) Uncount(need.chunk);
    (need.before == Need::kNone ? m.first : needs_[need.before].after) = need.after;
    (need.after == Need::kNone ? m.last : needs_[need.after].before) = need.before;
    if (m.first == Need::kNone) {
      unnamed_.Add(need.chunk, m.seen);
    } else if (counts) {
      Count(need.chunk);
    }
  }
  live_ -= work.needs;
  work.at = spare_[work.needs];
  spare_[work.needs] = index;
}

void Lookahead::Drop(size_t from, size_t count) {
  // The last first, so that a chunk's next use is not counted only to go as well.
  for (size_t i = begin_ + from + count; i-- > begin_ + from;) Forget(window_[i].work);
  if (from + count == works()) {
    window_.resize(begin_ + from);
    sums_.Shrink(begin_ + from);
    start_.resize(begin_ + from + 1);
    return;
  }
  begin_ += count;
  if (begin_ < kMostBehind + works()) return;
  window_.erase(window_.begin(), window_.begin() + static_cast<ptrdiff_t>(begin_));
  sums_.EraseFirst(begin_);
  begin_ = 0;
  start_.assign(1, 0);
  Retime(0);
  for (size_t at = 0; at < window_.size(); ++at) {
    works_[window_[at].work].at = static_cast<uint32_t>(at);
  }
}

void Lookahead::Retime(size_t place) {
  start_.resize(window_.size() + 1);
  for (size_t at = place; at < window_.size(); ++at) {
    start_[at + 1] = start_[at] + window_[at].duration;
  }
}

void Lookahead::Clear() {
  for (size_t w = begin_; w < window_.size(); ++w) {
    const Work& work = works_[window_[w].work];
    for (uint32_t i = 0; i < work.needs; ++i) {
      const ChunkIndex chunk = ids_[work.first_need + i];
      if (!chunk) continue;
      Mentions& m = mentions_[chunk.value];
      if (m.first == Need::kNone) continue;
      m.first = m.last = m.counts = Need::kNone;
      unnamed_.Add(chunk, m.seen);
    }
  }
  needs_.clear();
  ids_.clear();
  works_.clear();
  spare_.clear();
  window_.clear();
  sums_.Clear();
  begin_ = 0;
  start_.assign(1, 0);
  live_ = 0;
  seen_ = busy_ = 0;
  unclaimed_ = pending_ = 0;
}

void Lookahead::Refresh() {
  if (const auto changed = residency_->Changed(); changed.has_value()) {
    for (const ChunkIndex chunk : *changed) LookAgain(chunk);
    VS_DCHECK(absl::c_all_of(needs_, [this](const Need& need) {
      const Mentions& m = mentions_[need.chunk.value];
      return need.place == Need::Place::kAgain || SeenChunk(residency_->Get(need.chunk)) == m.seen;
    }));
    return;
  }
  told_ = false;
  for (size_t w = begin_; w < window_.size(); ++w) {
    const Work& work = works_[window_[w].work];
    const Need* need = needs_.data() + work.first_need;
    for (const Need* const end = need + work.needs; need != end; ++need) {
      if (need->place != Need::Place::kAgain) LookAgain(need->chunk);
    }
  }
}

void Lookahead::LookAgain(ChunkIndex chunk) {
  if (chunk.value >= mentions_.size()) GrowTo(mentions_, size_t{chunk.value} + 1);
  Mentions& m = mentions_[chunk.value];
  const SeenChunk seen(residency_->Get(chunk));
  if (seen == m.seen) return;
  // The sums hold what it was.
  const bool named = m.first != Need::kNone;
  named ? Uncount(chunk) : unnamed_.Remove(chunk, m.seen);
  empty_.Saw(chunk, m.seen, seen);
  m.seen = seen;
  named ? Count(chunk) : unnamed_.Add(chunk, m.seen);
}

void Lookahead::Count(ChunkIndex chunk) {
  Mentions& m = mentions_[chunk.value];
  uint32_t at = m.first;
  Need* need = &needs_[at];
  need->size = m.seen.size();
  works_[need->work].seen += need->size;
  seen_ += need->size;
  Need::Place place = PlaceOf(m.seen, works_[need->work].explicit_request);
  if (Claimable(place)) {
    uint32_t explicit_request = at;
    while (explicit_request != Need::kNone &&
           !works_[needs_[explicit_request].work].explicit_request) {
      explicit_request = needs_[explicit_request].after;
    }
    if (explicit_request != Need::kNone) {
      at = explicit_request;
      need = &needs_[at];
      need->size = m.seen.size();
      works_[need->work].seen += need->size;
      seen_ += need->size;
      place = PlaceOf(m.seen, /*explicit_request=*/true);
    }
  }
  m.counts = at;
  need->place = place;
  need->claim = m.seen.claim();
  need->incoming = m.seen.incoming();
  Add(*need, 1);
}

void Lookahead::Uncount(ChunkIndex chunk) {
  Mentions& m = mentions_[chunk.value];
  if (m.counts == Need::kNone) return;
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
  const uint64_t size = sign * need.size;
  switch (need.place) {
    case Need::Place::kMissing:
      sums_.AddMissing(at, size);
      break;
    case Need::Place::kIdle:
      sums_.AddIdle(at, size);
      break;
    case Need::Place::kBusy:
      busy_ += size;
      if (need.incoming) sums_.AddOnTheWay(at, size);
      break;
    case Need::Place::kPending:
      sums_.AddOnTheWay(at, size);
      pending_ += static_cast<uint32_t>(sign);
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

bool Lookahead::SumsAreRight() const {
  uint64_t busy = 0;
  uint32_t unclaimed = 0, pending = 0;
  for (size_t at = begin_; at < window_.size(); ++at) {
    const Work& work = works_[window_[at].work];
    WorkSums::Sums own;
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
    if (!(own == sums_[at]) || work.at != at ||
        start_[at + 1] - start_[at] != window_[at].duration) {
      return false;
    }
  }
  UnnamedChunks right;
  for (uint32_t i = 0; i < mentions_.size(); ++i) {
    if (mentions_[i].first == Need::kNone) right.Add(ChunkIndex(i), mentions_[i].seen);
  }
  if (right.idle_bytes() != unnamed_.idle_bytes() || right.busy_bytes() != unnamed_.busy_bytes() ||
      right.idle().size() != unnamed_.idle().size() || right.unclaimed() != unnamed_.unclaimed()) {
    return false;
  }
  return sums_.AreRight() && busy == busy_ && unclaimed == unclaimed_ && pending == pending_ &&
         sums_.size() == window_.size() && start_.size() == window_.size() + 1;
}

int64_t Lookahead::LastWithIdle(int64_t work, int64_t after) const {
  if (work <= after) return after;
  const size_t last = sums_.LastIdle(begin_ + static_cast<size_t>(work), begin_);
  if (last == WorkSums::kNone) return after;
  return std::max(after, static_cast<int64_t>(last - begin_));
}

}  // namespace vramspan
