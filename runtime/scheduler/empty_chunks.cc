#include "runtime/scheduler/empty_chunks.h"

#include <absl/algorithm/container.h>

namespace vramspan {

void EmptyChunks::GiveUp(ChunkIndex chunk) {
  Chunk& c = residency_[chunk];
  // Whoever else holds its memory may fill it unseen, before the queue gets here.
  if (c.state == ChunkState::kPinned) return;
  if (queue_.empty()) {
    Empty(chunk);
    return;
  }
  // A chunk that is removed takes this with it: its index may be another's when the queue gets
  // here.
  c.given_up = true;
  given_up_.push_back({queue_.last(), chunk});
  last_[chunk] = queue_.last();
}

void EmptyChunks::Settle() {
  while (!given_up_.empty() && queue_.IsPast(given_up_.front().behind)) {
    const GivenUp next = given_up_.front();
    given_up_.pop_front();
    const auto last = last_.find(next.chunk);
    // Given up again since: what lies between the two is over soon.
    if (last == last_.end() || last->second != next.behind) continue;
    last_.erase(last);
    if (residency_[next.chunk].given_up) Empty(next.chunk);
  }
}

void EmptyChunks::Empty(ChunkIndex chunk) {
  Chunk& c = residency_[chunk];
  c.given_up = false;
  if (c.empty || c.state == ChunkState::kNone || c.state == ChunkState::kPinned) return;
  c.empty = true;
  residency_.NoteChange(chunk);
  // Most have been filled since they came in here.
  if (empty_.size() >= 64 && empty_.size() == empty_.capacity()) {
    std::erase_if(empty_, [this](ChunkIndex i) { return !residency_[i].empty; });
    absl::c_sort(empty_);
    empty_.erase(std::unique(empty_.begin(), empty_.end()), empty_.end());
    empty_.reserve(empty_.size() * 2);
  }
  empty_.push_back(chunk);
}

void EmptyChunks::AnyMayBeFilled() {
  for (const ChunkIndex chunk : empty_) {
    if (!residency_[chunk].empty) continue;
    residency_[chunk].empty = false;
    residency_.NoteChange(chunk);
  }
  empty_.clear();
}

void EmptyChunks::ForgetAll() {
  AnyMayBeFilled();
  given_up_.clear();
  last_.clear();
}

}  // namespace vramspan
