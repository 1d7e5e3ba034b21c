#include "runtime/scheduler/admission.h"

#include <bit>

namespace vramspan {

void Admission::Wanted::Add(DevicePtr begin, Bytes size) {
  if (size == Bytes(0)) return;
  const uint64_t first = begin.value >> kMinChunkLog2;
  const uint64_t pieces = ((begin.value + (size.value - 1)) >> kMinChunkLog2) - first + 1;
  if (pieces >= 64) return AddAll();
  const uint64_t low = (uint64_t{1} << pieces) - 1;
  bits_ |= std::rotl(low, static_cast<int>(first % 64));
}

int Admission::Wanted::Beyond(const Wanted& other) const {
  return std::popcount(bits_ & ~other.bits_);
}

void Admission::Add(Waiter* waiter) {
  waiter->came = let_in_;
  waiter->next = nullptr;
  *end_ = waiter;
  end_ = &waiter->next;
  ++size_;
}

Admission::Waiter* Admission::LetIn(bool kernels_only) {
  // Room for something else comes when fewer are held.
  if (kernels_only && first_ != nullptr && !first_->kernel && Overdue(*first_)) return nullptr;
  Waiter** chosen = nullptr;
  int least = 0;
  for (Waiter** at = &first_; *at != nullptr; at = &(*at)->next) {
    const Waiter& waiter = **at;
    if (kernels_only && !waiter.kernel) continue;
    const int beyond = waiter.wanted.Beyond(last_);
    if (chosen != nullptr && beyond >= least) continue;
    const bool oldest = chosen == nullptr;
    chosen = at;
    least = beyond;
    if (least == 0 || (oldest && Overdue(waiter))) break;
  }
  if (chosen == nullptr) return nullptr;
  Waiter* const waiter = *chosen;
  *chosen = waiter->next;
  if (end_ == &waiter->next) end_ = chosen;
  --size_;
  ++let_in_;
  waiter->let_in = true;
  last_ = waiter->wanted;
  return waiter;
}

}  // namespace vramspan
