#include "runtime/placement/lookahead.h"

#include <algorithm>

#include "runtime/base/grow.h"

namespace vramspan {
namespace {

Need::Place PlaceOf(ChunkView view, bool by_hand) {
  if (by_hand && view.claim == Claim::kNone) view.claim = Claim::kOrdinary;
  if (!view.movable) return Need::Place::kFixed;
  if (view.on_device && view.claim == Claim::kKeep) return Need::Place::kFixed;
  if (view.on_device && view.busy) return Need::Place::kBusy;
  if (view.on_device) {
    return view.claim == Claim::kNone ? Need::Place::kUnclaimed : Need::Place::kIdle;
  }
  if (!by_hand && (view.prefer_host || view.claim == Claim::kNone)) return Need::Place::kInPlace;
  return view.busy ? Need::Place::kUnsettled : Need::Place::kMissing;
}

}  // namespace

void Lookahead::Scan(absl::Span<const QueuedWork> queue, uint32_t released, Bytes horizon,
                     const ResidencyView& residency) {
  needs_.clear();
  unclaimed_.clear();
  works_.assign(1, Work{});
  most_missing_ = busy_ = 0;
  uint64_t seen_bytes = 0;
  for (const QueuedWork& queued : queue) {
    Work end = works_.back();
    for (const ChunkIndex chunk : queued.chunks) {
      if (!chunk) continue;
      if (Names(chunk)) {
        const Need::Place before = Find(chunk).place;
        const bool unclaimed = before == Need::Place::kInPlace || before == Need::Place::kUnclaimed;
        if (!queued.by_hand || !unclaimed) continue;
      }
      if (chunk.value >= place_.size()) GrowTo(place_, size_t{chunk.value} + 1);
      place_[chunk.value] = static_cast<uint32_t>(needs_.size());
      const ChunkView view = residency.Get(chunk);
      const uint64_t size = view.size.value;
      const Need::Place place = PlaceOf(view, queued.by_hand);
      if (place == Need::Place::kUnclaimed) {
        unclaimed_.push_back(static_cast<uint32_t>(needs_.size()));
      }
      needs_.push_back({.chunk = chunk, .place = place, .claim = view.claim, .size = size});
      seen_bytes += size;
      if (place == Need::Place::kMissing) end.missing_before += size;
      if (place == Need::Place::kIdle) end.idle_before += size;
      if (place == Need::Place::kBusy) busy_ += size;
      if ((place == Need::Place::kBusy || place == Need::Place::kUnsettled) &&
          works() >= released) {
        end.on_the_way_before += size;
      }
    }
    most_missing_ = std::max(most_missing_, end.missing_before - works_.back().missing_before);
    end.first_need = static_cast<uint32_t>(needs_.size());
    end.start += queued.duration;
    works_.push_back(end);
    if (seen_bytes > horizon.value && works() > released) break;
  }
}

}  // namespace vramspan
