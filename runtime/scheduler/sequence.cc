#include "runtime/scheduler/sequence.h"

#include <algorithm>

#include "runtime/base/mix.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {

uint64_t Sequence::HashOf(absl::Span<const ChunkUse> uses) {
  uint64_t hash = 0;
  for (const ChunkUse& use : uses) hash = Mix(hash, use.chunk.value);
  return hash;
}

uint64_t Sequence::Signature(uint64_t hash_of_uses, uint64_t kernel) {
  return hash_of_uses == 0 ? 0 : Mix(hash_of_uses, kernel);
}

Sequence::Seen Sequence::Saw(Work* work) {
  Seen seen;
  // A copy between two launches moves nothing and is no part of the sequence.
  if (work->signature == 0 || (work->kernel == 0 && work->wanted.chunks.empty())) return seen;
  seen.counts = true;
  const uint64_t hits = forecast_.hits();
  forecast_.Saw(work->signature);
  seen.expected = forecast_.hits() != hits;
  LookBack(*work);
  const auto known = sets_.find(work->signature);
  const bool changed = known != sets_.end();
  if (changed) {
    if (known->second.chunks == work->wanted.chunks) {
      if (known->second.version != 0) work->wanted.version = known->second.version;
      return seen;
    }
    chunks_ -= known->second.chunks.size();
    known->second.chunks.clear();
  }
  if (chunks_ + work->wanted.chunks.size() > kMostSetChunks ||
      (known == sets_.end() && sets_.size() == kMostSets)) {
    sets_.clear();
    chunks_ = 0;
    seen.forgotten = true;
    if (work->wanted.chunks.size() > kMostSetChunks) return seen;
  }
  chunks_ += work->wanted.chunks.size();
  Set& set = sets_[work->signature];
  set.kernel = work->kernel;
  set.known_at = kNever;
  set.version = work->wanted.version;
  set.chunks.assign(work->wanted.chunks.begin(), work->wanted.chunks.end());
  // It wants others than it did, and so does what is expected to be the same.
  if (changed) seen.changed = set.chunks;
  return seen;
}

void Sequence::LookBack(const Work& work) {
  ++counted_;
  const auto first_of = [](absl::Span<const ChunkIndex> chunks) {
    return chunks.empty() ? ChunkIndex() : chunks[0];
  };
  for (Foresight* const sees : {&near_, &far_}) {
    sees->Came(first_of(work.wanted.chunks));
    uint64_t next = 0;
    const bool known = forecast_.Next(absl::MakeSpan(&next, 1), sees->ahead() - 1) != 0;
    const auto found = known ? sets_.find(next) : sets_.end();
    sees->Expects(found == sets_.end() ? ChunkIndex() : first_of(found->second.chunks));
  }
}

size_t Sequence::sight() const {
  const bool far = counted_ > 2 * kFar && far_.share() > kAsSure * near_.share();
  return far ? kExpectedWorks : kLeastExpected;
}

void Sequence::Next(size_t skipped, size_t most, const KernelHistory& history,
                    absl::FunctionRef<void(const QueuedWork&)> expect) {
  uint64_t next[kExpectedWorks];
  const size_t count =
      forecast_.Next(absl::MakeSpan(next).first(std::min(most, kExpectedWorks)), skipped);
  for (size_t i = 0; i < count; ++i) {
    const auto found = sets_.find(next[i]);
    if (found == sets_.end()) return;
    Set& set = found->second;
    if (set.known_at != history.expected_changes()) {
      set.known_at = history.expected_changes();
      set.duration = history.Expected(set.kernel);
    }
    // Chunks that were freed since are of no size and never move; those of others cost time only.
    expect({.id = next[i],
            .kernel = set.kernel,
            .chunks = set.chunks,
            .duration = set.duration,
            .version = set.version});
  }
}

}  // namespace vramspan
