#include "tools/prove/state.h"

namespace vramspan::prove {

void State::Set(SassRegister reg, SassGuard guard, Origin origin) {
  registers_.Set(reg, guard, origin);
  words_.Forget(reg);
  if (IsStackPointer(reg)) local_.Move();
}

void State::Add(SassRegister reg, Origin origin) {
  registers_.Add(reg, origin);
  words_.Forget(reg);
  if (IsStackPointer(reg)) local_.Move();
}

void State::Forget(SassGuard guard) {
  registers_.Forget(guard);
  words_.Forget(guard);
}

void State::ForgetAll() {
  registers_.ForgetAll();
  words_.ForgetTests();
}

// A function leaves barriers as they were: those that it uses it saves, by the ABI.
void State::TakeWritten(const State& function) {
  registers_.TakeWritten(function.registers_);
  words_.ForgetAll();
  local_ = function.local_;
}

bool State::Join(const State& other) {
  bool changed = registers_.Join(other.registers_);
  changed |= words_.Join(other.words_);
  changed |= local_.Join(other.local_);
  for (size_t i = 0; i < kBarriers; ++i) {
    if (go_on_[i] == other.go_on_[i] || go_on_[i] == kAnywhere) continue;
    go_on_[i] = kAnywhere;
    changed = true;
  }
  return changed;
}

}  // namespace vramspan::prove
