// The same launch again: WorkingSets::Repeat, and what it goes by.
#include <absl/algorithm/container.h>

#include <iterator>

#include "runtime/observe/working_sets.h"

namespace vramspan {

uint64_t WorkingSets::Changes(const Launch& launch) const {
  uint64_t changes = 0;
  for (const Named& named : named_) {
    if (named.known != nullptr) changes += named.known->ChangesFor(launch.arrays);
  }
  return changes;
}

void WorkingSets::NoteWhere(const Launch& launch, uint64_t before, Repeatable* again) {
  again->any_ = false;
  again->kind_ = launch.kind;
  again->arrays_ = launch.arrays;
  again->forgotten_ = forgotten_;
  again->allocations_.clear();
  again->pointers_.clear();
  const auto& touches = launch.submission.touches;
  // What was learnt from its last pointers may answer otherwise for its first ones.
  if (touches.size() > Repeatable::kMostPointers || Changes(launch) != before) return;
  for (size_t i = 0; i < touches.size(); ++i) {
    if (named_[i].known == nullptr) continue;
    Known& known = *named_[i].known;
    if (absl::c_none_of(again->allocations_, [&](const auto& a) { return a.known == &known; })) {
      again->allocations_.push_back({&known, known.ChangesFor(launch.arrays)});
    }
    auto& list = known.boundaries;
    const auto position = [&](Boundaries::iterator it) {
      return static_cast<uint32_t>(it - list.begin());
    };
    const Extent& extent = named_[i].extent;
    const uint64_t offset = (touches[i].ptr - extent.base).value;
    const auto start = known.From(offset);
    const bool bounds = start != list.end() && start->offset == offset;
    Repeatable::Pointer p{.known = &known};
    if (bounds) {
      p.start = position(start);
    } else {
      // One that would be a boundary, had there been room for it.
      const uint64_t previous = start == list.begin() ? 0 : std::prev(start)->offset;
      if (offset % kAlignment.value == 0 || offset - previous >= kApart.value) return;
    }
    auto end = bounds ? std::next(start) : start;
    if (extent.IsBlock(touches[i].ptr)) {
      end = bounds ? EndInBlock(known, list, start, extent, launch) : list.end();
      if (end == list.end()) {
        again->pointers_.push_back(p);
        continue;
      }
      p.next = position(end);
    } else if (known.pool && extent.reach() <= whole_.load(std::memory_order_relaxed)) {
      again->pointers_.push_back(p);
      continue;
    } else if (end != list.end()) {
      if (end->seen + kAge < known.launches) return;
      p.next = position(end);
      end = BehindRow(list, offset, end, launch.code);
    }
    if (bounds && end != list.end() && end->offset < extent.reach().value) {
      p.end = position(end);
      const auto user = absl::c_find_if(
          start->users, [&](const Boundary::User& u) { return u.launch == launch.kind; });
      if (user == start->users.end()) return;
      p.user = static_cast<uint16_t>(user - start->users.begin());
      if (!known.pool && launch.kind != 0 && end->NamedBy(launch.namer)) {
        // On its way to a proof: each launch may be the one that makes it.
        if (start->renewed < kRenewed || user->times <= kRenewed) return;
        p.proven = true;
      }
    }
    again->pointers_.push_back(p);
  }
  for (Repeatable::Pointer& p : again->pointers_) {
    p.times = static_cast<uint16_t>(absl::c_count_if(again->pointers_, [&](const auto& other) {
      return other.known == p.known && other.start == p.start;
    }));
  }
  again->any_ = true;
}

bool WorkingSets::Repeatable::IsUser(const Boundary& start, const Pointer& pointer) const {
  const Boundary::User& user = start.users[pointer.user];
  if (user.launch != kind_) return false;
  // It may have been another's meanwhile.
  return !pointer.proven || (user.times > kRenewed && user.noted);
}

bool WorkingSets::Repeatable::Stands(const Pointer& pointer) const {
  const Boundaries& list = pointer.known->boundaries;
  const uint64_t now = pointer.known->launches + 1;
  if (pointer.next != kNone && list[pointer.next].seen + kAge < now) return false;
  if (pointer.end == kNone) return true;
  const Boundary& start = list[pointer.start];
  return start.alone + pointer.times < kAlone && IsUser(start, pointer);
}

bool WorkingSets::Repeat(const Repeatable& again) {
  MutexLock lock(mu_);
  // First: what was forgotten is not there any more.
  if (!again.any_ || again.forgotten_ != forgotten_) return false;
  for (const Repeatable::Counted& a : again.allocations_) {
    if (a.known->ChangesFor(again.arrays_) != a.changes) return false;
  }
  for (const Repeatable::Pointer& p : again.pointers_) {
    if (!again.Stands(p)) return false;
  }
  // As Infer does: all pointers are seen before any range is told.
  ++infers_;
  for (const Repeatable::Counted& a : again.allocations_) {
    ++a.known->launches;
    a.known->counted = infers_;
  }
  for (const Repeatable::Pointer& p : again.pointers_) {
    if (p.start == Repeatable::kNone) continue;
    Boundary& start = p.known->boundaries[p.start];
    p.known->changes += start.See(p.known->launches, start.block);
  }
  for (const Repeatable::Pointer& p : again.pointers_) {
    if (p.end == Repeatable::kNone) continue;
    auto& list = p.known->boundaries;
    Boundary& start = list[p.start];
    start.EndsAt(list[p.end]);
    if (start.used != p.known->launches) ++start.users[p.user].times;
    start.used = p.known->launches;
  }
  return true;
}

}  // namespace vramspan
