#include "runtime/placement/policies/random.h"

#include <utility>

#include "runtime/base/grow.h"

namespace vramspan {

void RandomPolicy::OnInsert(ChunkIndex chunk) {
  if (chunk.value >= place_.size()) GrowTo(place_, size_t{chunk.value} + 1);
  if (place_[chunk.value] != 0) return;
  GrowTo(present_, present_.size() + 1, chunk);
  place_[chunk.value] = static_cast<uint32_t>(present_.size());
}

void RandomPolicy::OnRemove(ChunkIndex chunk) {
  if (chunk.value >= place_.size() || place_[chunk.value] == 0) return;
  Swap(place_[chunk.value] - 1, static_cast<uint32_t>(present_.size()) - 1);
  present_.pop_back();
  place_[chunk.value] = 0;
}

void RandomPolicy::OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) {
  // A shuffle from the end (Fisher and Yates), as far as the caller wants it.
  for (auto left = static_cast<uint32_t>(present_.size()); left > 0; --left) {
    Swap(Draw(left), left - 1);
    if (take(present_[left - 1])) return;
  }
}

uint32_t RandomPolicy::Draw(uint32_t bound) {
  // splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<uint32_t>(((z >> 32) * bound) >> 32);
}

void RandomPolicy::Swap(uint32_t a, uint32_t b) {
  std::swap(present_[a], present_[b]);
  place_[present_[a].value] = a + 1;
  place_[present_[b].value] = b + 1;
}

}  // namespace vramspan
