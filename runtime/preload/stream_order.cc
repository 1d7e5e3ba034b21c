#include "runtime/preload/stream_order.h"

#include <algorithm>

namespace vramspan::preload {

void StreamOrder::Note(Clock* clock, const Known& known) {
  for (Known& k : *clock) {
    if (k.stream != known.stream) continue;
    k.free = std::max(k.free, known.free);
    return;
  }
  if (clock->size() < kMostKnown) clock->push_back(known);
}

StreamOrder::Clock& StreamOrder::ClockOf(uint64_t stream) {
  if (streams_.size() >= kMostStreams && !streams_.contains(stream)) streams_.clear();
  return streams_[stream];
}

uint64_t StreamOrder::Freed(uint64_t stream) {
  Note(&ClockOf(stream), {stream, ++last_});
  return last_;
}

void StreamOrder::Recorded(Event event, uint64_t stream) {
  const auto known = streams_.find(stream);
  if (known == streams_.end()) {
    // It tells of nothing, whatever it told of before.
    events_.erase(event);
    return;
  }
  if (events_.size() >= kMostEvents && !events_.contains(event)) events_.clear();
  events_[event] = known->second;
}

void StreamOrder::Waits(uint64_t stream, Event event) {
  const auto told = events_.find(event);
  if (told == events_.end()) return;
  Clock& clock = ClockOf(stream);
  for (const Known& known : told->second) Note(&clock, known);
}

bool StreamOrder::IsBehind(uint64_t stream, uint64_t other, uint64_t free) const {
  const auto known = streams_.find(stream);
  if (known == streams_.end()) return false;
  return std::any_of(known->second.begin(), known->second.end(),
                     [&](const Known& k) { return k.stream == other && k.free >= free; });
}

void StreamOrder::Forget() {
  streams_.clear();
  events_.clear();
}

}  // namespace vramspan::preload
