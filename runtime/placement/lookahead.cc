#include "runtime/placement/lookahead.h"

#include <algorithm>

namespace vramspan {
namespace {

Need::Place PlaceOf(const ChunkView& view) {
  if (!view.movable) return Need::Place::kFixed;
  if (view.on_device) return view.busy ? Need::Place::kBusy : Need::Place::kIdle;
  if (view.prefer_host) return Need::Place::kFixed;
  return view.busy ? Need::Place::kUnsettled : Need::Place::kMissing;
}

}  // namespace

void Lookahead::Scan(absl::Span<const QueuedWork> queue, uint32_t released, Bytes horizon,
                     const ResidencyView& residency) {
  if (++scan_ == 0) {  // The stamps of 2^32 scans ago would be taken for ours.
    std::fill(seen_.begin(), seen_.end(), Seen{});
    scan_ = 1;
  }
  needs_.clear();
  works_.assign(1, Work{});
  most_missing_ = busy_ = 0;
  uint64_t seen_bytes = 0;
  for (const QueuedWork& queued : queue) {
    Work end = works_.back();
    for (const ChunkIndex chunk : queued.chunks) {
      if (!chunk || Names(chunk)) continue;
      if (chunk.value >= seen_.size()) seen_.resize(chunk.value + 1);
      seen_[chunk.value] = {.scan = scan_, .need = static_cast<uint32_t>(needs_.size())};
      const ChunkView view = residency.Get(chunk);
      const uint64_t size = view.size.value;
      const Need::Place place = PlaceOf(view);
      needs_.push_back({.chunk = chunk, .place = place, .size = size});
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
