#include "tools/prove/registers.h"

#include <algorithm>

namespace vramspan::prove {

const GuardedRegister* Registers::Find(size_t index) const {
  for (const GuardedRegister& one : guarded_) {
    if (one.index == index) return &one;
  }
  return nullptr;
}

void Registers::Note(const GuardedRegister& written) {
  if (const GuardedRegister* const known = Find(written.index)) {
    guarded_.erase(guarded_.begin() + (known - guarded_.data()));
  }
  if (guarded_.size() == kMostGuarded) guarded_.erase(guarded_.begin());
  guarded_.push_back(written);
}

Origin Registers::Of(SassRegister reg, SassGuard guard) const {
  if (reg.zero) return Origin::kNumber;
  if (guard > kOtherGuard) {
    const GuardedRegister* const known = Find(Index(reg));
    if (known != nullptr && known->guard == guard) return known->origin;
  }
  return values_[Index(reg)];
}

void Registers::Set(SassRegister reg, SassGuard guard, Origin origin) {
  if (reg.zero) return;
  const uint16_t index = Index(reg);
  written_.set(index);
  Origin& value = values_[index];
  saved_.Written(index);
  const GuardedRegister* const known = Find(index);
  // Where the opposite guard has written it before, one of the two has: nothing older is left.
  const bool both = guard > kOtherGuard && known != nullptr && known->guard == Opposite(guard);
  const Origin other = both ? known->origin : value;
  if (known != nullptr) guarded_.erase(guarded_.begin() + (known - guarded_.data()));
  value = guard == kNoGuard ? origin : EitherOf(origin, other);
  if (guard <= kOtherGuard || both) return;
  Note({index, guard, origin});
}

void Registers::Add(SassRegister reg, Origin origin) {
  if (reg.zero) return;
  const uint16_t index = Index(reg);
  written_.set(index);
  JoinOne(origin, &values_[index]);
  saved_.Added(index, origin);
  for (GuardedRegister& one : guarded_) {
    if (one.index == index) JoinOne(origin, &one.origin);
  }
}

void Registers::Forget(SassGuard guard) {
  const auto of_it = [&](const GuardedRegister& one) {
    const bool is = one.guard == guard || one.guard == Opposite(guard);
    if (is) saved_.Keep(one);
    return is;
  };
  guarded_.erase(std::remove_if(guarded_.begin(), guarded_.end(), of_it), guarded_.end());
  saved_.Forget(guard);
}

void Registers::ForgetAll() {
  for (const GuardedRegister& one : guarded_) saved_.Keep(one);
  guarded_.clear();
  saved_.ForgetGuards();
}

void Registers::Save(SavedIn in, SassGuard guard) {
  if (guard > kOtherGuard) {
    saved_.ForEachKept(in, guard, [this](const GuardedRegister& written) { Note(written); });
  }
  saved_.Save(in, guard);
}

bool Registers::Join(const Registers& other) {
  bool changed = (other.written_ & ~written_).any();
  written_ |= other.written_;
  for (size_t i = 0; i < kAll; ++i) changed |= JoinOne(other.values_[i], &values_[i]);
  size_t kept = 0;
  for (GuardedRegister one : guarded_) {
    const GuardedRegister* const more = other.Find(one.index);
    if (more == nullptr || more->guard != one.guard) continue;
    changed |= JoinOne(more->origin, &one.origin);
    guarded_[kept++] = one;
  }
  changed |= kept != guarded_.size();
  guarded_.resize(kept);
  return saved_.Join(other.saved_) || changed;
}

void Registers::TakeWritten(const Registers& function) {
  guarded_.clear();
  saved_.ForgetAll();
  for (size_t i = 0; i < kAll; ++i) {
    if (function.written_[i]) values_[i] = function.values_[i];
  }
  written_ |= function.written_;
}

}  // namespace vramspan::prove
