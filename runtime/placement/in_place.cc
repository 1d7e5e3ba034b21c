#include "runtime/placement/in_place.h"

#include <algorithm>
#include <bit>

#include "runtime/placement/victims.h"

namespace vramspan {
namespace {

// Served in place so often, decayed, before it is worth a move: a move costs about as much as being
// served once, and the place must be earned twice over, or equals would take turns.
constexpr double kEarned = 2;

}  // namespace

void ServedArguments::Add(uint16_t slot, Bytes named, Bytes size, bool on_device) {
  if (slot == LaunchSample::kSeveral) return;
  size_t i = 0;
  while (i < count_ && arguments_[i].slot != slot) ++i;
  if (i == count_) {
    if (count_ == arguments_.size()) return;
    arguments_[count_++].slot = slot;
  }
  const auto add = [&](KernelHistory::Remote* to) {
    to->named += named;
    to->moved += size;
  };
  add(&arguments_[i].all);
  if (!on_device) add(&arguments_[i].remote);
}

void ServedArguments::Judge(uint64_t kernel, KernelHistory* history) {
  for (size_t i = 0; i < count_; ++i) {
    Argument& a = arguments_[i];
    a.serve = history->For(kernel, a.slot, a.remote.moved != Bytes(0) ? a.remote : a.all) ==
              KernelHistory::Verdict::kServe;
    any_ |= a.serve;
  }
}

void PlaceMerit::Gather() {
  if (gathered_) return;
  gathered_ = true;
  offer_([this](ChunkIndex chunk, Bytes size) {
    victims_[count_++] = {heat_.Of(chunk), size.value};
    return count_ == victims_.size();
  });
}

const PlaceMerit::Victim* PlaceMerit::Next(uint64_t need, Taken taken) const {
  const size_t first = static_cast<size_t>(std::countr_one(taken));
  if (first >= count_) return nullptr;
  const Victim* best = &victims_[first];
  const size_t end = std::min(count_, first + Victims::kEqualClaim);
  for (size_t i = first + 1; i < end; ++i) {
    const Victim& v = victims_[i];
    if ((taken >> i & 1) == 0 && v.size >= need && Victims::Suits(v.size, best->size, need)) {
      best = &v;
    }
  }
  return best;
}

bool PlaceMerit::Worth(ChunkIndex chunk, Bytes size) {
  if (size > room_) {
    const double heat = heat_.Of(chunk);
    if (heat < kEarned) return false;
    Gather();
    Bytes room = room_;
    Taken taken = taken_;
    while (room < size) {
      const Victim* const victim = Next((size - room).value, taken);
      if (victim == nullptr || heat <= Heat::kClearly * victim->heat + kEarned) return false;
      taken |= Taken{1} << (victim - victims_.data());
      room += Bytes(victim->size);
    }
    room_ = room;
    taken_ = taken;
  }
  room_ -= size;
  return true;
}

}  // namespace vramspan
