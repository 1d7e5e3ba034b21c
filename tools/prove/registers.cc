#include "tools/prove/registers.h"

#include <algorithm>

namespace vramspan::prove {

const Registers::Guarded* Registers::Find(size_t index) const {
  for (const Guarded& one : guarded_) {
    if (one.index == index) return &one;
  }
  return nullptr;
}

Origin Registers::Of(SassRegister reg, SassGuard guard) const {
  if (reg.zero) return Origin::kNumber;
  if (guard > kOtherGuard) {
    const Guarded* const known = Find(Index(reg));
    if (known != nullptr && known->guard == guard) return known->origin;
  }
  return values_[Index(reg)];
}

void Registers::Set(SassRegister reg, SassGuard guard, Origin origin) {
  if (reg.zero) return;
  const size_t index = Index(reg);
  written_.set(index);
  Origin& value = values_[index];
  const Guarded* const known = Find(index);
  // Where the opposite guard has written it before, one of the two has: nothing older is left.
  const bool both = guard > kOtherGuard && known != nullptr && known->guard == Opposite(guard);
  const Origin other = both ? known->origin : value;
  if (known != nullptr) guarded_.erase(guarded_.begin() + (known - guarded_.data()));
  value = guard == kNoGuard ? origin : std::max(origin, other);
  if (guard <= kOtherGuard || both) return;
  if (guarded_.size() == kMostGuarded) guarded_.erase(guarded_.begin());
  guarded_.push_back({static_cast<uint16_t>(index), guard, origin});
}

void Registers::Add(SassRegister reg, Origin origin) {
  if (reg.zero) return;
  const size_t index = Index(reg);
  written_.set(index);
  JoinOne(origin, &values_[index]);
  for (Guarded& one : guarded_) {
    if (one.index == index) JoinOne(origin, &one.origin);
  }
}

void Registers::Forget(SassGuard guard) {
  const auto of_it = [guard](const Guarded& one) {
    return one.guard == guard || one.guard == Opposite(guard);
  };
  guarded_.erase(std::remove_if(guarded_.begin(), guarded_.end(), of_it), guarded_.end());
}

bool Registers::Join(const Registers& other) {
  bool changed = (other.written_ & ~written_).any();
  written_ |= other.written_;
  for (size_t i = 0; i < kAll; ++i) changed |= JoinOne(other.values_[i], &values_[i]);
  size_t kept = 0;
  for (Guarded one : guarded_) {
    const Guarded* const more = other.Find(one.index);
    if (more == nullptr || more->guard != one.guard) continue;
    changed |= JoinOne(more->origin, &one.origin);
    guarded_[kept++] = one;
  }
  changed |= kept != guarded_.size();
  guarded_.resize(kept);
  return changed;
}

void Registers::TakeWritten(const Registers& function) {
  ForgetAll();
  for (size_t i = 0; i < kAll; ++i) {
    if (function.written_[i]) values_[i] = function.values_[i];
  }
  written_ |= function.written_;
}

}  // namespace vramspan::prove
