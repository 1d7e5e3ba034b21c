#include "tools/replay/virtual_streams.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace vramspan::replay {

VirtualStreams::VirtualStreams(const RecordedRun* run, const Timing* timing, RunRecorder* recorder)
    : run_(*run), timing_(*timing), recorder_(*recorder), ends_(run_.works.size(), kNever) {
  uint32_t streams = 0;
  for (const RecordedWork& w : run_.works) streams = std::max(streams, w.stream + 1);
  streams_.resize(streams);
}

ActiveWork* VirtualStreams::New(uint32_t work) {
  if (spare_.empty()) {
    works_.emplace_back();
    spare_.push_back(&works_.back());
  }
  ActiveWork* a = spare_.back();
  spare_.pop_back();
  a->Renew();
  a->work = work;
  // 0 is none.
  a->id = uint64_t{work} + 1;
  ++active_;
  return a;
}

void VirtualStreams::Push(ActiveWork* a) { StreamOf(*a)->works.push_back(a); }

uint64_t VirtualStreams::NextEnd() const {
  return running_.empty() ? kNever : running_.front().time;
}

void VirtualStreams::ForEachRunning(absl::FunctionRef<void(const Work&)> visit) const {
  for (const Stream& s : streams_) {
    if (!s.works.empty() && s.works.front()->released) visit(*s.works.front());
  }
}

void VirtualStreams::End(const Now& now, absl::FunctionRef<void(ActiveWork*)> ended) {
  bool any = false;
  while (!running_.empty() && running_.front().time <= now.time) {
    ActiveWork* a = running_.front().work;
    std::pop_heap(running_.begin(), running_.end(), std::greater<>());
    running_.pop_back();
    Stream* const s = StreamOf(*a);
    s->works.pop_front();
    s->last_end = now.time;
    s->last_end_at = now.stalls;
    last_end_ = now.time;
    ends_[a->work] = now.time;
    any = true;
    ended(a);
    Start(s, now);
  }
  if (!any || waiting_ == 0) return;
  for (Stream& s : streams_) {
    if (s.waits) Start(&s, now);
  }
}

void VirtualStreams::SetShare(uint64_t now, double share) {
  if (share == share_) return;
  for (Running& r : running_) {
    if (!r.kernel) continue;
    if (now > r.since) {
      r.left = std::max(0.0, r.left - static_cast<double>(now - r.since) * share_);
      r.since = now;
    }
    r.time = r.since + static_cast<uint64_t>(std::ceil(r.left / share));
    r.work->end = r.time;
  }
  share_ = share;
  std::make_heap(running_.begin(), running_.end(), std::greater<>());
}

bool VirtualStreams::Computes(uint64_t now) const {
  return std::any_of(running_.begin(), running_.end(),
                     [now](const Running& r) { return r.kernel && r.since <= now; });
}

uint64_t VirtualStreams::NextStart(uint64_t now) const {
  uint64_t next = kNever;
  for (const Running& r : running_) {
    if (r.kernel && r.since > now) next = std::min(next, r.since);
  }
  return next;
}

bool VirtualStreams::FindReady(Stream* stream, ActiveWork* a, const Now& now) {
  if (a->ready_known) return true;
  const uint32_t after = timing_.of(a->work).after;
  const bool waits = after != kNoWork && ends_[after] == kNever;
  if (waits != stream->waits) waits ? ++waiting_ : --waiting_;
  stream->waits = waits;
  if (waits) return false;
  a->ready = std::max(a->came, stream->last_end);
  a->at_ready = a->ready == a->came ? a->at_submission : stream->last_end_at;
  if (after != kNoWork && ends_[after] > a->ready) {
    a->ready = ends_[after];
    a->at_ready = now.stalls;
  }
  a->ready_known = true;
  return true;
}

void VirtualStreams::Start(Stream* stream, const Now& now) {
  if (stream->works.empty() || stream->works.front()->started) return;
  ActiveWork* a = stream->works.front();
  if (!FindReady(stream, a, now) || !a->released) return;
  const uint64_t unheld = a->ready + timing_.of(a->work).lag;
  // It is held no more, but was if it may not start before its release.
  const uint64_t pass = a->may_start != 0 ? now.pass : 0;
  a->start = std::max(unheld + pass, a->may_start);
  a->end = a->start + a->duration + a->behind + now.mark;
  a->started = true;
  const bool kernel = run_.works[a->work].kind != WorkKind::kCopy;
  const auto left = static_cast<double>(a->end - a->start);
  if (kernel && share_ != 1) a->end = a->start + static_cast<uint64_t>(std::ceil(left / share_));
  running_.push_back({a->end, order_++, a, kernel, a->start, left});
  std::push_heap(running_.begin(), running_.end(), std::greater<>());
  Record(a, unheld);
}

void VirtualStreams::Record(ActiveWork* a, uint64_t unheld) {
  RunRecorder::Launch& launch = a->launch;
  launch.start = a->start;
  launch.took = a->duration;
  if (const uint64_t stalled = a->start - unheld; stalled != 0) {
    // What is neither a copy's time nor a drain's: calls, and the way from being let go to the
    // start. Time before it was `unheld` does not count, in proportion.
    const Stalls& to = a->at_release;
    const Stalls& from = InstantOf(a->ready) < a->released_at ? a->at_ready : to;
    const auto share = [&](Duration part) {
      const uint64_t all = std::max(stalled, a->start - a->ready);
      return stalled * static_cast<uint64_t>(part.count()) / all;
    };
    launch.stall.copy = share(to.copies - from.copies);
    launch.stall.drain = share(to.drain - from.drain);
    launch.stall.vmm = stalled - launch.stall.copy - launch.stall.drain;
  }
  recorder_.Add(launch);
}

}  // namespace vramspan::replay
