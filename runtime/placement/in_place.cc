#include "runtime/placement/in_place.h"

namespace vramspan {
namespace {

// Served in place so often, decayed, before it is worth a move: a move costs about as much as being
// served once, and the place must be earned twice over, or equals would take turns.
constexpr double kEarned = 2;

}  // namespace

void ServedArguments::Add(uint16_t slot, Bytes size, bool on_device) {
  if (slot == LaunchSample::kSeveral) return;
  size_t i = 0;
  while (i < count_ && arguments_[i].slot != slot) ++i;
  if (i == count_) {
    if (count_ == arguments_.size()) return;
    arguments_[count_++].slot = slot;
  }
  arguments_[i].size += size;
  if (!on_device) arguments_[i].remote += size;
}

void ServedArguments::Judge(uint64_t kernel, KernelHistory* history) {
  for (size_t i = 0; i < count_; ++i) {
    Argument& a = arguments_[i];
    a.serve = history->For(kernel, a.slot, a.remote.value != 0 ? a.remote : a.size) ==
              KernelHistory::Verdict::kServe;
    any_ |= a.serve;
  }
}

bool PlaceMerit::Worth(ChunkIndex chunk, Bytes size) {
  if (size <= room_) {
    room_ -= size;
    return true;
  }
  const double heat = heat_.Of(chunk);
  if (heat < kEarned) return false;
  if (!coldest_.has_value()) {
    const ChunkIndex victim = next_victim_();
    coldest_ = victim ? heat_.Of(victim) : heat;
  }
  return heat > Heat::kClearly * *coldest_ + kEarned;
}

}  // namespace vramspan
