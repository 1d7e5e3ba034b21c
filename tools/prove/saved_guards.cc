#include "tools/prove/saved_guards.h"

#include <algorithm>

namespace vramspan::prove {
namespace {

template <typename List, typename Which>
void EraseIf(List* list, Which which) {
  list->erase(std::remove_if(list->begin(), list->end(), which), list->end());
}

}  // namespace

void SavedGuards::Save(SavedIn in, SassGuard guard) {
  if (guard == kOtherGuard) return;
  if (saved_.size() == kMostSaved) saved_.erase(saved_.begin());
  saved_.push_back({in, guard});
}

bool SavedGuards::IsZero(SavedIn in) const {
  return std::find(saved_.begin(), saved_.end(), Saved{in, kNoGuard}) != saved_.end();
}

void SavedGuards::Keep(const GuardedRegister& written) {
  for (const Saved& one : saved_) {
    const bool holds = one.guard == written.guard;
    if (!holds && (one.guard == kNoGuard || one.guard != Opposite(written.guard))) continue;
    // What tells whether it was written is what it was written over.
    if (one.in.index == written.index) continue;
    const Kept kept{written.index, one.in, holds, written.origin};
    EraseIf(&kept_, [&kept](const Kept& known) {
      return known.index == kept.index && known.in == kept.in;
    });
    if (kept_.size() < kMostKept) kept_.push_back(kept);
  }
}

void SavedGuards::Forget(SassGuard guard) {
  EraseIf(&saved_,
          [guard](const Saved& one) { return one.guard == guard || one.guard == Opposite(guard); });
}

void SavedGuards::ForgetGuards() {
  EraseIf(&saved_, [](const Saved& one) { return one.guard != kNoGuard; });
}

void SavedGuards::ForgetAll() {
  saved_.clear();
  kept_.clear();
}

void SavedGuards::Written(uint16_t index) {
  EraseIf(&saved_, [index](const Saved& one) { return one.in.index == index; });
  EraseIf(&kept_, [index](const Kept& one) { return one.index == index || one.in.index == index; });
}

void SavedGuards::Added(uint16_t index, Origin origin) {
  EraseIf(&saved_, [index](const Saved& one) { return one.in.index == index; });
  EraseIf(&kept_, [index](const Kept& one) { return one.in.index == index; });
  for (Kept& one : kept_) {
    if (one.index == index) JoinOne(origin, &one.origin);
  }
}

SavedGuards SavedGuards::Of(uint16_t index, uint32_t bits) const {
  const auto is_of = [&](SavedIn in) {
    return in.index == index && in.bit != SavedIn::kAll && (bits >> in.bit & 1) != 0;
  };
  SavedGuards of;
  for (const Saved& one : saved_) {
    if (is_of(one.in)) of.saved_.push_back(one);
  }
  for (const Kept& one : kept_) {
    if (is_of(one.in)) of.kept_.push_back(one);
  }
  return of;
}

void SavedGuards::PutBack(const SavedGuards& of) {
  saved_.insert(saved_.end(), of.saved_.begin(), of.saved_.end());
  kept_.insert(kept_.end(), of.kept_.begin(), of.kept_.end());
}

const SavedGuards::Kept* SavedGuards::Find(const Kept& like) const {
  for (const Kept& one : kept_) {
    if (one.index == like.index && one.in == like.in && one.holds == like.holds) return &one;
  }
  return nullptr;
}

bool SavedGuards::Join(const SavedGuards& other) {
  const size_t saved = saved_.size(), kept = kept_.size();
  EraseIf(&saved_, [&other](const Saved& one) {
    return std::find(other.saved_.begin(), other.saved_.end(), one) == other.saved_.end();
  });
  EraseIf(&kept_, [&other](const Kept& one) { return other.Find(one) == nullptr; });
  bool changed = saved != saved_.size() || kept != kept_.size();
  for (Kept& one : kept_) changed |= JoinOne(other.Find(one)->origin, &one.origin);
  return changed;
}

}  // namespace vramspan::prove
