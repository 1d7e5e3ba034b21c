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
  uint32_t& here = set_at_[forecast_.last_place()];
  const auto known = set_of_.find(work->signature);
  here = known == set_of_.end() ? kNoSet : known->second;
  LookBack(*work);
  const bool changed = here != kNoSet;
  if (changed) {
    Set& set = sets_[here];
    if (set.chunks == work->wanted.chunks) {
      if (set.version != 0) work->wanted.version = set.version;
      return seen;
    }
    chunks_ -= set.chunks.size();
    set.chunks.clear();
  }
  if (chunks_ + work->wanted.chunks.size() > kMostSetChunks ||
      (!changed && sets_.size() == kMostSets)) {
    sets_.clear();
    set_of_.clear();
    std::fill(set_at_.begin(), set_at_.end(), kNoSet);
    chunks_ = 0;
    seen.forgotten = true;
    if (work->wanted.chunks.size() > kMostSetChunks) return seen;
  }
  chunks_ += work->wanted.chunks.size();
  if (here == kNoSet) {
    here = static_cast<uint32_t>(sets_.size());
    set_of_[work->signature] = here;
    sets_.push_back({.signature = work->signature});
  }
  Set& set = sets_[here];
  set.kernel = work->kernel;
  set.known_at = kNever;
  set.version = work->wanted.version;
  set.chunks.assign(work->wanted.chunks.begin(), work->wanted.chunks.end());
  // It wants others than it did, and so does what is expected to be the same.
  if (changed) seen.changed = set.chunks;
  return seen;
}

Sequence::Set* Sequence::SetAt(size_t place) {
  if (set_at_[place] == kNoSet) {
    const auto known = set_of_.find(forecast_.SignatureAt(place));
    if (known == set_of_.end()) return nullptr;
    set_at_[place] = known->second;
  }
  return &sets_[set_at_[place]];
}

void Sequence::LookBack(const Work& work) {
  ++counted_;
  const auto first_of = [](absl::Span<const ChunkIndex> chunks) {
    return chunks.empty() ? ChunkIndex() : chunks[0];
  };
  for (Foresight* const sees : {&near_, &far_}) {
    sees->Came(first_of(work.wanted.chunks));
    ChunkIndex expected;
    forecast_.ForEachNext(sees->ahead() - 1, [&](size_t place) {
      if (const Set* const set = SetAt(place)) expected = first_of(set->chunks);
      return false;
    });
    sees->Expects(expected);
  }
}

size_t Sequence::sight() const {
  const bool far = counted_ > 2 * kFar && far_.share() > kAsSure * near_.share();
  return far ? kExpectedWorks : kLeastExpected;
}

void Sequence::Next(size_t skipped, size_t most, const KernelHistory& history,
                    absl::FunctionRef<void(const QueuedWork&)> expect) {
  forecast_.ForEachNext(skipped, [&](size_t place) {
    Set* const set = most == 0 ? nullptr : SetAt(place);
    if (set == nullptr) return false;
    --most;
    if (set->known_at != history.expected_changes()) {
      set->known_at = history.expected_changes();
      set->duration = history.Expected(set->kernel);
    }
    // Chunks that were freed since are of no size and never move; those of others cost time only.
    expect({.id = set->signature,
            .kernel = set->kernel,
            .chunks = set->chunks,
            .duration = set->duration,
            .version = set->version});
    return true;
  });
}

}  // namespace vramspan
