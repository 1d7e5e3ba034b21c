#include "runtime/placement/victims.h"

#include <algorithm>
#include <utility>

#include "runtime/placement/move_limits.h"

namespace vramspan {

void Victims::Line::Clear() {
  chunks.clear();
  first_untaken = 0;
  idle = 0;
}

void Victims::Start(const ResidencyView& residency, uint64_t want, uint32_t max, bool for_all,
                    double per_byte) {
  residency_ = &residency;
  want_ = want;
  left_ = max;
  most_ = size_t{max} + kEqualClaim;
  for_all_ = for_all;
  unclaimed_.Clear();
  unnamed_.Clear();
  kept_.Clear();
  empty_.Clear();
  empty_named_.clear();
  first_empty_ = 0;
  empty_gathered_ = false;
  per_byte_ = per_byte;
  drawn_ = 0;
  const UnnamedChunks* const unnamed = ahead_->unnamed();
  whole_ = for_all || unnamed == nullptr || policy_->Draws() ||
           unnamed->unclaimed() + ahead_->unclaimed() != 0;
  unnamed_.idle = whole_ ? 0 : unnamed->idle_bytes();
  unnamed_busy_ = whole_ ? 0 : unnamed->busy_bytes();
  all_drawn_ = !whole_ && unnamed->idle().empty();
  farthest_ = static_cast<int64_t>(ahead_->works()) - 1;
}

void Victims::Finish() {
  for (const Chosen& taken : named_taken_) *taken.taken = false;
  named_taken_.clear();
}

void Victims::GatherEmpty() {
  if (std::exchange(empty_gathered_, true)) return;
  const auto add = [this](ChunkIndex chunk, uint64_t size) {
    if (!ahead_->Names(chunk)) {
      empty_.Add(chunk, size);
      empty_.idle += size;
    } else if (ahead_->Find(chunk).place == Need::Place::kIdle) {
      empty_named_.push_back({ahead_->WorkOf(ahead_->Find(chunk)), chunk});
    }
  };
  if (ahead_->unnamed() != nullptr) {
    for (const ChunkIndex chunk : ahead_->empty()) add(chunk, ahead_->SizeOf(chunk));
  } else if (!policy_->Draws()) {
    policy_->OfferVictims([&](ChunkIndex chunk) {
      const SeenChunk seen(residency_->Get(chunk));
      if (EmptyIdle::Counts(seen)) add(chunk, seen.size());
      return false;
    });
  }
  // More than may be taken is only counted. The order is one that all views give.
  const auto keep_first = [this](auto* of, auto before) {
    const auto end = of->begin() + static_cast<ptrdiff_t>(std::min(most_, of->size()));
    std::partial_sort(of->begin(), end, of->end(), before);
    of->erase(end, of->end());
  };
  // Pools give the lowest addresses out first.
  keep_first(&empty_.chunks,
             [](const Candidate& a, const Candidate& b) { return b.chunk < a.chunk; });
  keep_first(&empty_named_, [](const EmptyNamed& a, const EmptyNamed& b) {
    return a.needed_by != b.needed_by ? a.needed_by > b.needed_by : a.chunk < b.chunk;
  });
}

Need* Victims::NextEmpty(uint64_t size, int64_t after) {
  while (first_empty_ < empty_named_.size() &&
         ahead_->Find(empty_named_[first_empty_].chunk).taken) {
    ++first_empty_;
  }
  Need* best = nullptr;
  size_t equal = 0;
  for (size_t i = first_empty_; i < empty_named_.size() && equal < kEqualClaim; ++i) {
    const EmptyNamed& next = empty_named_[i];
    if (next.needed_by <= after) break;
    Need& need = ahead_->Find(next.chunk);
    if (need.taken || !CanBeAway(need, next.needed_by, after)) continue;
    ++equal;
    if (best == nullptr || Suits(need.size, best->size, size)) best = &need;
  }
  return best;
}

bool Victims::CanBeAway(const Need& need, uint32_t needed_by, int64_t after) const {
  if (after == kForAll || per_byte_ == 0) return true;
  // Sooner than it could cross and be remapped twice it would only be in the way of what else is to
  // be done.
  const uint64_t away = ahead_->Start(needed_by) - ahead_->Start(static_cast<uint32_t>(after));
  return static_cast<double>(away) >= per_byte_ * static_cast<double>(need.size) + kOutAndBackNs;
}

void Victims::Gather() {
  GatherEmpty();
  if (!whole_ || all_drawn_) return;
  all_drawn_ = true;
  GatherOffered();
  uint32_t left = ahead_->unclaimed();
  for (uint32_t work = ahead_->works(); left != 0; --work) {
    const absl::Span<const Need> needs = ahead_->NeedsOf(work - 1);
    for (size_t i = needs.size(); i-- > 0;) {
      if (needs[i].place != Need::Place::kUnclaimed) continue;
      unclaimed_.Add(needs[i].chunk, needs[i].size);
      unclaimed_.idle += needs[i].size;
      --left;
    }
  }
}

void Victims::GatherOffered() {
  policy_->OfferVictims([&](ChunkIndex chunk) {
    const bool named = ahead_->Names(chunk);
    if (named && !for_all_) return false;
    const ChunkView view = residency_->Get(chunk);
    if (!view.movable || !view.on_device) return false;
    const uint64_t size = view.size.value;
    if (view.claim == Claim::kKeep) {
      if (!for_all_ || view.busy || kept_.chunks.size() >= most_) return false;
      kept_.Add(chunk, size);
      kept_.idle += size;
      return false;
    }
    // What holds nothing is gathered by itself, but where to be asked would change what is offered.
    const bool apart = ahead_->unnamed() != nullptr || !policy_->Draws();
    if (named || (apart && EmptyIdle::Counts(SeenChunk(view)))) return false;
    if (view.busy) {
      unnamed_busy_ += size;
      return false;
    }
    Line& line = view.claim == Claim::kNone ? unclaimed_ : unnamed_;
    // More than may be taken is only counted.
    if (line.chunks.size() < most_) line.Add(chunk, size);
    line.idle += size;
    return IsEnough(unclaimed_.chunks.size() + unnamed_.chunks.size(),
                    unclaimed_.idle + unnamed_.idle);
  });
}

void Victims::Draw(size_t count) {
  if (all_drawn_ || unnamed_.chunks.size() >= count) return;
  // Nobody holds a place in the policy's order: those that were drawn come first again. So each
  // time twice as many are drawn.
  size_t known = unnamed_.chunks.size();
  count = std::max({count, 2 * known, 2 * kEqualClaim});
  unnamed_.chunks.reserve(most_);
  bool more = false;
  const UnnamedChunks& unnamed = *ahead_->unnamed();
  policy_->OfferAmong(unnamed.idle(), [&](ChunkIndex chunk) {
    if (!unnamed.IsIdle(chunk)) return false;
    if (known != 0) {
      --known;
      return false;
    }
    const uint64_t size = ahead_->SizeOf(chunk);
    unnamed_.Add(chunk, size);
    drawn_ += size;
    const size_t drawn = unnamed_.chunks.size();
    if (IsEnough(drawn, drawn_) || drawn == most_ || drawn == unnamed.idle().size()) {
      return true;
    }
    more = drawn >= count;
    return more;
  });
  all_drawn_ = !more;
}

Victims::Outcome Victims::Take(uint64_t need, int64_t after, std::vector<ChunkIndex>* evict,
                               uint64_t* freed) {
  Gather();
  uint64_t total = 0;
  Outcome outcome = Choose(need, after, &total);
  if (outcome == Outcome::kDone) {
    Prune(need, &total);
    Commit(evict);
    *freed += total;
    return outcome;
  }
  for (const Chosen& chosen : chosen_) GiveBack(chosen);
  chosen_.clear();
  if (IdleLeft(after) < need) outcome = Outcome::kTooLittle;
  return outcome;
}

void Victims::TakeUpTo(uint64_t need, int64_t after, std::vector<ChunkIndex>* evict,
                       uint64_t* freed) {
  Gather();
  uint64_t total = 0;
  if (Choose(need, after, &total) == Outcome::kDone) Prune(need, &total);
  Commit(evict);
  *freed += total;
}

uint32_t Victims::NextVictimNeededBy(uint32_t after) {
  Gather();
  // What holds nothing is as good as what nobody needs: to have it leave early costs nothing.
  if (unclaimed_.idle + empty_.idle + unnamed_.idle != 0 || NextEmpty(0, after) != nullptr) {
    return ahead_->works();
  }
  SkipEmpty(after);
  return static_cast<uint32_t>(std::max<int64_t>(farthest_, after));
}

uint64_t Victims::IdleLeft(int64_t after) {
  Gather();
  uint64_t named = ahead_->IdleFrom(static_cast<uint32_t>(after + 1));
  for (const Chosen& taken : named_taken_) {
    if (taken.needed_by > after) named -= taken.size;
  }
  return unclaimed_.idle + empty_.idle + unnamed_.idle + named;
}

uint64_t Victims::Busy() {
  Gather();
  return unnamed_busy_ + ahead_->busy();
}

Victims::Outcome Victims::Choose(uint64_t need, int64_t after, uint64_t* total) {
  while (*total < need) {
    if (chosen_.size() == left_) return Outcome::kTooMany;
    const uint64_t left = need - *total;
    // For a budget that was lowered nothing need leave that work names.
    const bool for_all = after == kForAll;
    if (!ChooseFrom(&unclaimed_, left) && !ChooseFrom(&empty_, left) &&
        !(for_all && ChooseFrom(&unnamed_, left)) && !ChooseEmpty(left, after) &&
        !ChooseFrom(&unnamed_, left) && !ChooseNamed(left, after) &&
        (after != kForAll || !ChooseFrom(&kept_, left))) {
      return Outcome::kTooLittle;
    }
    *total += chosen_.back().size;
  }
  return Outcome::kDone;
}

bool Victims::ChooseFrom(Line* line, uint64_t need) {
  std::vector<Candidate>& chunks = line->chunks;
  while (line->first_untaken < chunks.size() && chunks[line->first_untaken].taken) {
    ++line->first_untaken;
  }
  // As many as are compared below.
  if (line == &unnamed_) Draw(line->first_untaken + kEqualClaim);
  if (line->first_untaken == chunks.size()) return false;
  // Where none covers the need, the first in line goes: sizes do not matter to many.
  size_t best = line->first_untaken;
  const size_t end = std::min(chunks.size(), best + kEqualClaim);
  for (size_t i = best + 1; i < end; ++i) {
    const Candidate& c = chunks[i];
    if (!c.taken && c.size >= need && Suits(c.size, chunks[best].size, need)) best = i;
  }
  Candidate& c = chunks[best];
  c.taken = true;
  line->idle -= c.size;
  chosen_.push_back(
      {.chunk = c.chunk, .size = c.size, .taken = &c.taken, .line = line, .needed_by = 0});
  return true;
}

bool Victims::ChooseEmpty(uint64_t size, int64_t after) {
  Need* const need = NextEmpty(size, after);
  if (need == nullptr) return false;
  need->taken = true;
  chosen_.push_back({.chunk = need->chunk,
                     .size = need->size,
                     .taken = &need->taken,
                     .line = nullptr,
                     .needed_by = ahead_->WorkOf(*need)});
  return true;
}

void Victims::SkipEmpty(int64_t after) {
  for (; farthest_ > after; --farthest_) {
    farthest_ = ahead_->LastWithIdle(farthest_, after);
    if (farthest_ <= after) return;
    for (const Need& n : ahead_->NeedsOf(static_cast<uint32_t>(farthest_))) {
      if (n.place == Need::Place::kIdle && !n.taken) return;
    }
  }
}

bool Victims::ChooseNamed(uint64_t need, int64_t after) {
  SkipEmpty(after);
  if (farthest_ <= after) return false;
  Need* best = nullptr;
  for (Need& n : ahead_->NeedsOf(static_cast<uint32_t>(farthest_))) {
    if (n.place != Need::Place::kIdle || n.taken) continue;
    if (best == nullptr || Suits(n.size, best->size, need)) best = &n;
    if (best->size == need) break;
  }
  best->taken = true;
  chosen_.push_back({.chunk = best->chunk,
                     .size = best->size,
                     .taken = &best->taken,
                     .line = nullptr,
                     .needed_by = farthest_});
  return true;
}

void Victims::GiveBack(const Chosen& chosen) {
  *chosen.taken = false;
  if (chosen.line != nullptr) {
    chosen.line->idle += chosen.size;
    chosen.line->first_untaken = 0;
  } else {
    farthest_ = std::max(farthest_, chosen.needed_by);
    first_empty_ = 0;
  }
}

void Victims::Prune(uint64_t need, uint64_t* total) {
  // The last choice may have covered what smaller ones before it were taken for. The strongest
  // claim to stay is heard first.
  for (size_t i = chosen_.size(); i-- > 0;) {
    if (*total - chosen_[i].size < need) continue;
    *total -= chosen_[i].size;
    GiveBack(chosen_[i]);
    chosen_[i].chunk = ChunkIndex();
  }
}

void Victims::Commit(std::vector<ChunkIndex>* evict) {
  for (const Chosen& chosen : chosen_) {
    if (!chosen.chunk) continue;
    evict->push_back(chosen.chunk);
    --left_;
    if (chosen.line == nullptr) named_taken_.push_back(chosen);
  }
  chosen_.clear();
}

}  // namespace vramspan
