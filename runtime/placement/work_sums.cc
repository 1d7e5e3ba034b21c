#include "runtime/placement/work_sums.h"

#include <algorithm>
#include <bit>

namespace vramspan {

void WorkSums::Clear() {
  own_.clear();
  groups_.clear();
  all_ = {};
}

void WorkSums::EraseFirst(size_t count) {
  own_.erase(own_.begin(), own_.begin() + static_cast<ptrdiff_t>(count));
  groups_.resize((own_.size() + kGroup - 1) / kGroup);
  for (size_t g = 0; g < groups_.size(); ++g) groups_[g] = Made(g);
}

void WorkSums::Replace(const Splice& splice, const std::vector<Sums>& came) {
  splice.Move(&own_);
  for (size_t at = splice.begin; at < splice.NewBegin(); ++at) own_[at] = {};
  std::copy(came.begin(), came.end(), own_.begin() + static_cast<ptrdiff_t>(splice.NewAt()));
  groups_.resize((own_.size() + kGroup - 1) / kGroup);
  const bool front = splice.moves_front;
  const size_t first = front ? std::min(splice.begin, splice.NewBegin()) : splice.at;
  const size_t end = front ? splice.at + splice.gone : own_.size();
  for (size_t g = first / kGroup; g * kGroup < end; ++g) groups_[g] = Made(g);
}

WorkSums::Group WorkSums::Made(size_t group) const {
  Group made;
  const size_t end = std::min(own_.size(), (group + 1) * kGroup);
  for (size_t at = group * kGroup; at < end; ++at) {
    made.sums.Add(own_[at]);
    made.most_missing = std::max(made.most_missing, own_[at].missing);
    Mark(at, &made);
  }
  return made;
}

void WorkSums::Settle(size_t begin) {
  Sums before;
  most_missing_ = 0;
  last_idle_ = 0;
  for (size_t g = begin / kGroup; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    group.before = before;
    before.missing += group.sums.missing;
    before.on_the_way += group.sums.on_the_way;
    if (group.most_is_old) {
      group.most_missing = 0;
      for (uint64_t bits = group.lacking; bits != 0; bits &= bits - 1) {
        const size_t at = g * kGroup + static_cast<size_t>(std::countr_zero(bits));
        group.most_missing = std::max(group.most_missing, own_[at].missing);
      }
      group.most_is_old = false;
    }
    most_missing_ = std::max(most_missing_, group.most_missing);
    if (group.idle != 0) last_idle_ = g;
  }
}

WorkSums::Sums WorkSums::Before(size_t at) const {
  const size_t g = at / kGroup;
  if (at == own_.size()) return all_;
  Sums before = groups_[g].before;
  const uint64_t places = (uint64_t{1} << at % kGroup) - 1;
  for (uint64_t bits = groups_[g].lacking & places; bits != 0; bits &= bits - 1) {
    const Sums& own = own_[g * kGroup + static_cast<size_t>(std::countr_zero(bits))];
    before.missing += own.missing;
    before.on_the_way += own.on_the_way;
  }
  return before;
}

uint64_t WorkSums::IdleFrom(size_t at) const {
  uint64_t idle = 0;
  const size_t end = std::min(own_.size(), (at / kGroup + 1) * kGroup);
  for (size_t i = at; i < end; ++i) idle += own_[i].idle;
  for (size_t g = at / kGroup + 1; g < groups_.size(); ++g) idle += groups_[g].sums.idle;
  return idle;
}

size_t WorkSums::LastIdle(size_t at, size_t begin) const {
  for (size_t g = std::min(at / kGroup, last_idle_);; --g) {
    uint64_t bits = groups_[g].idle;
    if (g == at / kGroup) bits &= ~uint64_t{0} >> (kGroup - 1 - at % kGroup);
    if (bits != 0) {
      return (g + 1) * kGroup - 1 - static_cast<size_t>(std::countl_zero(bits));
    }
    if (g * kGroup <= begin) return kNone;
  }
}

bool WorkSums::AreRight() const {
  Sums all;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const Group made = Made(g);
    const Group& group = groups_[g];
    const bool needs = !(made.sums == Sums());
    if (!(made.sums == group.sums) || made.lacking != group.lacking || made.idle != group.idle ||
        (needs && (made.most_missing != group.most_missing || group.before.missing != all.missing ||
                   group.before.on_the_way != all.on_the_way))) {
      return false;
    }
    all.Add(made.sums);
  }
  return all == all_;
}

}  // namespace vramspan
