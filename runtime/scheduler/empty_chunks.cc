#include "runtime/scheduler/empty_chunks.h"

#include <absl/algorithm/container.h>

namespace vramspan {

void EmptyChunks::GiveUp(ChunkIndex chunk, bool unowned) {
  Chunk& c = residency_[chunk];
  // Whoever else holds its memory may fill it unseen, before the queue gets here.
  if (c.state == ChunkState::kPinned) return;
  // Nobody has touched it since.
  if (unowned && c.freed() && (c.empty() || c.given_up())) return;
  c.Set(Contents::kFreed, unowned);
  if (queue_.empty()) {
    Empty(chunk);
    return;
  }
  // A chunk that is removed takes the mark with it: its index may be another's when the queue gets
  // here.
  const uint64_t behind = queue_.last();
  Waiting& waiting = waiting_[chunk];
  if (c.given_up() && waiting.last == behind) return;
  if (!c.given_up()) waiting.first = behind;
  waiting.last = behind;
  c.Set(Contents::kGivenUp, true);
  given_up_.push_back({behind, chunk});
}

void EmptyChunks::Settle() {
  while (!given_up_.empty() && queue_.IsPast(given_up_.front().behind)) {
    const GivenUp next = given_up_.front();
    given_up_.pop_front();
    const auto waiting = waiting_.find(next.chunk);
    if (waiting == waiting_.end()) continue;
    Chunk& c = residency_[next.chunk];
    if (c.given_up() && next.behind >= waiting->second.first) Empty(next.chunk);
    // Else it was given up again since: a program runs ahead for more than a round.
    if (next.behind != waiting->second.last) continue;
    c.Set(Contents::kGivenUp, false);
    // It was pinned meanwhile, so nobody knows.
    if (!c.empty()) c.Set(Contents::kFreed, false);
    waiting_.erase(waiting);
  }
}

void EmptyChunks::Owned(ChunkIndex chunk) { residency_[chunk].Set(Contents::kFreed, false); }

void EmptyChunks::Empty(ChunkIndex chunk) {
  Chunk& c = residency_[chunk];
  const bool was_empty = c.empty();
  if (c.state == ChunkState::kNone || c.state == ChunkState::kPinned) return;
  c.Set(Contents::kNone, true);
  if (was_empty) return;
  residency_.NoteChange(chunk);
  // Most have been filled since they came in here.
  if (empty_.size() >= 64 && empty_.size() == empty_.capacity()) {
    std::erase_if(empty_, [this](ChunkIndex i) { return !residency_[i].empty(); });
    absl::c_sort(empty_);
    empty_.erase(std::unique(empty_.begin(), empty_.end()), empty_.end());
    empty_.reserve(empty_.size() * 2);
  }
  empty_.push_back(chunk);
}

void EmptyChunks::Fill(bool unowned) {
  std::erase_if(empty_, [&](ChunkIndex chunk) {
    Chunk& c = residency_[chunk];
    if (c.unowned() && !unowned) return false;
    if (c.empty()) residency_.NoteChange(chunk);
    c.Set(unowned ? Contents::kNone | Contents::kFreed : Contents::kNone, false);
    return true;
  });
}

void EmptyChunks::ForgetAll() {
  Fill(/*unowned=*/true);
  // What is marked is not waited for any more.
  given_up_.clear();
  for (const auto& [chunk, waiting] : waiting_) {
    residency_[chunk].Set(Contents::kGivenUp | Contents::kFreed, false);
  }
  waiting_.clear();
}

}  // namespace vramspan
