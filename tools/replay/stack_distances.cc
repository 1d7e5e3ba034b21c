#include "tools/replay/stack_distances.h"

#include <algorithm>

namespace vramspan::replay {

StackDistances::StackDistances(uint32_t end) : time_(end, kNone) { SetTimes(kLeastTimes); }

uint32_t StackDistances::Access(ChunkIndex chunk, uint32_t granules) {
  if (now_ == size_.size()) MakeTimes();
  const uint32_t before = time_[chunk.value];
  uint32_t distance = kFirst;
  uint32_t filled = 0;
  if (before != kNone) {
    distance = total_ - SumBefore(before);
    if (!holes_.Empty()) filled = Fill(granules, before, false);
    Subtract(before, granules - filled);
    size_[before] = static_cast<uint8_t>(filled);
    chunk_[before] = 0;
    if (filled != 0) holes_.Insert(before);
  } else if (!holes_.Empty()) {
    Fill(granules, 0, true);
  }
  time_[chunk.value] = now_;
  chunk_[now_] = chunk.value;
  size_[now_] = static_cast<uint8_t>(granules);
  Add(now_, granules);
  ++now_;
  return distance;
}

void StackDistances::Free(ChunkIndex chunk) {
  const uint32_t time = time_[chunk.value];
  if (time == kNone) return;
  time_[chunk.value] = kNone;
  chunk_[time] = 0;
  holes_.Insert(time);
}

void StackDistances::Forget(ChunkIndex chunk) {
  const uint32_t time = time_[chunk.value];
  if (time == kNone) return;
  time_[chunk.value] = kNone;
  chunk_[time] = 0;
  Subtract(time, size_[time]);
  size_[time] = 0;
}

void StackDistances::Add(uint32_t time, uint32_t granules) {
  total_ += granules;
  for (uint32_t b = time / kBlock + 1; b < tree_.size(); b += b & -b) tree_[b] += granules;
}

uint32_t StackDistances::SumBefore(uint32_t time) const {
  uint32_t sum = 0;
  const uint32_t block = time / kBlock;
  for (uint32_t b = block; b > 0; b -= b & -b) sum += tree_[b];
  // Of the whole block, with what is not before masked out: that has no branch and is vectorised.
  const uint8_t* sizes = &size_[size_t{block} * kBlock];
  const uint32_t end = time % kBlock;
  for (uint32_t i = 0; i < kBlock; ++i) sum += i < end ? sizes[i] : 0;
  return sum;
}

uint32_t StackDistances::Fill(uint32_t granules, uint32_t time, bool anywhere) {
  uint32_t filled = 0;
  while (filled < granules && !holes_.Empty()) {
    const auto hole = static_cast<uint32_t>(holes_.Greatest());
    if (!anywhere && hole < time) break;
    const uint32_t taken = std::min<uint32_t>(granules - filled, size_[hole]);
    filled += taken;
    Subtract(hole, taken);
    size_[hole] = static_cast<uint8_t>(size_[hole] - taken);
    if (size_[hole] == 0) holes_.Erase(hole);
  }
  return filled;
}

void StackDistances::MakeTimes() {
  uint32_t standing = 0;
  for (uint32_t t = 0; t < now_; ++t) {
    if (size_[t] == 0) continue;
    size_[standing] = size_[t];
    chunk_[standing] = chunk_[t];
    if (chunk_[t] != 0) time_[chunk_[t]] = standing;
    ++standing;
  }
  now_ = standing;
  // Three quarters of the times are free then, so that moving costs little for each access.
  SetTimes(std::max(kLeastTimes, (standing * 4 + kBlock - 1) / kBlock * kBlock));
}

void StackDistances::SetTimes(uint32_t count) {
  size_.resize(count);
  std::fill(size_.begin() + now_, size_.end(), 0);
  chunk_.resize(count);
  tree_.assign(count / kBlock + 1, 0);
  holes_ = PositionSet(count);
  total_ = 0;
  for (uint32_t t = 0; t < now_; ++t) {
    total_ += size_[t];
    tree_[t / kBlock + 1] += size_[t];
    if (chunk_[t] == 0) holes_.Insert(t);
  }
  for (uint32_t b = 1; b < tree_.size(); ++b) {
    if (const uint32_t above = b + (b & -b); above < tree_.size()) tree_[above] += tree_[b];
  }
}

}  // namespace vramspan::replay
