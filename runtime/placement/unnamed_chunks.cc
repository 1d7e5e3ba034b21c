#include "runtime/placement/unnamed_chunks.h"

#include "runtime/base/grow.h"

namespace vramspan {

void UnnamedChunks::Add(ChunkIndex chunk, const SeenChunk& seen) {
  if (!Counts(seen)) return;
  if (seen.busy()) {
    busy_bytes_ += seen.size();
  } else if (seen.claim() == Claim::kNone) {
    ++unclaimed_;
  } else {
    if (chunk.value >= place_.size()) GrowTo(place_, size_t{chunk.value} + 1, kNone);
    place_[chunk.value] = static_cast<uint32_t>(idle_.size());
    idle_.push_back(chunk);
    idle_bytes_ += seen.size();
  }
}

void UnnamedChunks::Remove(ChunkIndex chunk, const SeenChunk& seen) {
  if (!Counts(seen)) return;
  if (seen.busy()) {
    busy_bytes_ -= seen.size();
  } else if (seen.claim() == Claim::kNone) {
    --unclaimed_;
  } else {
    // The last takes its place.
    const ChunkIndex last = idle_.back();
    idle_[place_[chunk.value]] = last;
    place_[last.value] = place_[chunk.value];
    place_[chunk.value] = kNone;
    idle_.pop_back();
    idle_bytes_ -= seen.size();
  }
}

}  // namespace vramspan
