#include "runtime/placement/victims.h"

#include <algorithm>

namespace vramspan {
namespace {

// So many of the policy's next victims count as having an equal claim to stay. Any small number
// would do: enough that a small victim is found for a small need, few enough that chunks in use are
// not taken for their size.
constexpr size_t kEqualClaim = 8;

// In Chosen::needed_by.
constexpr int64_t kUnnamed = -1;

// Whether a victim of `size` suits the need better than one of `best` (0: none yet): the smallest
// that covers it, else the largest.
bool Suits(uint64_t size, uint64_t best, uint64_t need) {
  if (best == 0) return true;
  if (size >= need) return best < need || size < best;
  return best < need && size > best;
}

}  // namespace

void Victims::Start(const ResidencyView& residency, uint64_t want, uint32_t max) {
  residency_ = &residency;
  want_ = want;
  left_ = max;
  gathered_ = false;
  unnamed_.clear();
  first_untaken_ = 0;
  unnamed_idle_ = unnamed_busy_ = 0;
  farthest_ = static_cast<int64_t>(ahead_->works()) - 1;
  named_taken_.clear();
}

void Victims::Gather() {
  if (gathered_) return;
  gathered_ = true;
  const size_t most = size_t{left_} + kEqualClaim;
  policy_->OfferVictims([&](ChunkIndex chunk) {
    if (ahead_->Names(chunk)) return false;
    const ChunkView view = residency_->Get(chunk);
    if (!view.movable || !view.on_device) return false;
    if (view.busy) {
      unnamed_busy_ += view.size.value;
      return false;
    }
    // More than may be taken is only counted.
    if (unnamed_.size() < most) unnamed_.push_back({.chunk = chunk, .size = view.size.value});
    unnamed_idle_ += view.size.value;
    return unnamed_.size() >= kEqualClaim && unnamed_idle_ >= want_;
  });
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
  if (unnamed_idle_ != 0) return ahead_->works();
  SkipEmpty(after);
  return static_cast<uint32_t>(std::max<int64_t>(farthest_, after));
}

uint64_t Victims::IdleLeft(int64_t after) {
  Gather();
  uint64_t named =
      ahead_->IdleBefore(ahead_->works()) - ahead_->IdleBefore(static_cast<uint32_t>(after + 1));
  for (const Chosen& taken : named_taken_) {
    if (taken.needed_by > after) named -= taken.size;
  }
  return unnamed_idle_ + named;
}

uint64_t Victims::Busy() {
  Gather();
  return unnamed_busy_ + ahead_->busy();
}

Victims::Outcome Victims::Choose(uint64_t need, int64_t after, uint64_t* total) {
  while (*total < need) {
    if (chosen_.size() == left_) return Outcome::kTooMany;
    if (!ChooseUnnamed(need - *total) && !ChooseNamed(need - *total, after)) {
      return Outcome::kTooLittle;
    }
    *total += chosen_.back().size;
  }
  return Outcome::kDone;
}

bool Victims::ChooseUnnamed(uint64_t need) {
  while (first_untaken_ < unnamed_.size() && unnamed_[first_untaken_].taken) ++first_untaken_;
  if (first_untaken_ == unnamed_.size()) return false;
  // Where none covers the need, the policy's first goes: sizes do not matter to many.
  size_t best = first_untaken_;
  const size_t end = std::min(unnamed_.size(), first_untaken_ + kEqualClaim);
  for (size_t i = best + 1; i < end; ++i) {
    const Candidate& c = unnamed_[i];
    if (!c.taken && c.size >= need && Suits(c.size, unnamed_[best].size, need)) best = i;
  }
  Candidate& c = unnamed_[best];
  c.taken = true;
  unnamed_idle_ -= c.size;
  chosen_.push_back({.chunk = c.chunk, .size = c.size, .needed_by = kUnnamed, .taken = &c.taken});
  return true;
}

void Victims::SkipEmpty(int64_t after) {
  for (; farthest_ > after; --farthest_) {
    for (const Need& n : ahead_->FirstNeededBy(static_cast<uint32_t>(farthest_))) {
      if (n.place == Need::Place::kIdle && !n.taken) return;
    }
  }
}

bool Victims::ChooseNamed(uint64_t need, int64_t after) {
  SkipEmpty(after);
  if (farthest_ <= after) return false;
  Need* best = nullptr;
  for (Need& n : ahead_->FirstNeededBy(static_cast<uint32_t>(farthest_))) {
    if (n.place != Need::Place::kIdle || n.taken) continue;
    if (best == nullptr || Suits(n.size, best->size, need)) best = &n;
    if (best->size == need) break;
  }
  best->taken = true;
  chosen_.push_back(
      {.chunk = best->chunk, .size = best->size, .needed_by = farthest_, .taken = &best->taken});
  return true;
}

void Victims::GiveBack(const Chosen& chosen) {
  *chosen.taken = false;
  if (chosen.needed_by == kUnnamed) {
    unnamed_idle_ += chosen.size;
    first_untaken_ = 0;
  } else {
    farthest_ = std::max(farthest_, chosen.needed_by);
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
    if (chosen.needed_by != kUnnamed) named_taken_.push_back(chosen);
  }
  chosen_.clear();
}

}  // namespace vramspan
