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

bool StreamOrder::IsBehind(const Clock& clock, uint64_t other, uint64_t free) {
  return std::any_of(clock.begin(), clock.end(),
                     [&](const Known& k) { return k.stream == other && k.free >= free; });
}

StreamOrder::Clock& StreamOrder::ClockOf(uint64_t stream) {
  if (streams_.size() >= kMostStreams && !streams_.contains(stream)) streams_.clear();
  return streams_[stream];
}

uint64_t StreamOrder::Freed(uint64_t stream) {
  MutexLock lock(mu_);
  ++last_;
  if (stream != 0) Note(&ClockOf(stream), {stream, last_});
  return last_;
}

StreamOrder::Clock StreamOrder::Of(uint64_t stream) {
  MutexLock lock(mu_);
  const auto known = streams_.find(stream);
  return known == streams_.end() ? Clock() : known->second;
}

void StreamOrder::Recorded(Event event, const Clock& clock) {
  MutexLock lock(mu_);
  if (clock.empty()) {
    // It tells of nothing, whatever it told of before.
    events_.erase(event);
    return;
  }
  if (events_.size() >= kMostEvents && !events_.contains(event)) events_.clear();
  events_[event] = clock;
}

void StreamOrder::Waits(uint64_t stream, Event event) {
  MutexLock lock(mu_);
  const auto told = events_.find(event);
  if (told == events_.end() || stream == 0) return;
  Clock& clock = ClockOf(stream);
  for (const Known& known : told->second) Note(&clock, known);
}

void StreamOrder::Forget(Event event) {
  MutexLock lock(mu_);
  events_.erase(event);
}

void StreamOrder::ForgetEvents() {
  MutexLock lock(mu_);
  events_.clear();
}

void StreamOrder::ForgetAll() {
  MutexLock lock(mu_);
  streams_.clear();
  events_.clear();
}

size_t StreamOrder::streams() {
  MutexLock lock(mu_);
  return streams_.size();
}

size_t StreamOrder::events() {
  MutexLock lock(mu_);
  return events_.size();
}

}  // namespace vramspan::preload
