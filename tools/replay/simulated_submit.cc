// Taking work in and letting it go: mover_submit.cc and the releasing part of
// mover.cc in virtual time.
#include <absl/algorithm/container.h>

#include <algorithm>

#include "runtime/base/log.h"
#include "runtime/placement/move_limits.h"
#include "tools/replay/simulated_mover.h"

namespace vramspan::replay {

void SimulatedMover::Submit(ActiveWork* a) {
  streams_[run_.works[a->work].stream].works.push_back(a);
  if (!tracking_) {
    MarkReleased(a);
    return;
  }
  if (traced_) {
    uint64_t& hash = set_hash_[a->set];
    if (hash == 0) hash = Sequence::HashOf(a->uses);
    a->signature = Sequence::Signature(hash, a->kernel);
  }
  if (min_ != nullptr) {
    WantByMin(a);
  } else {
    if (run_.works[a->work].kind == WorkKind::kCopy) {
      // Nothing is fetched for a copy: it touches each byte once.
      a->ServeOnce();
      trials_->Want(a);
    } else if (a->kernel != 0) {
      trials_->PriceNew(a, Available());
    }
  }
  if (a->barrier()) unmapped_chunks_->KeepMapped(InstantOf(now_));
  if (queue_.empty() && readiness_->RunsAsItIs(*a, ConditionsNow())) {
    if (plan_maker_) plan_maker_->Submitted(a);
    MarkReleased(a);
    TryStart(&streams_[run_.works[a->work].stream]);
    return;
  }
  a->held = true;
  counts_->Held(*a);
  if (queue_.empty()) patience_.HeadIs(a->work, InstantOf(now_));
  queue_.Push(a);
  if (plan_maker_) plan_maker_->Submitted(a);
  // What is so far behind is looked at when next something changes.
  plan_again_ |= queue_.size() < kExpectedWorks || in_flight_ == 0;
  TryStart(&streams_[run_.works[a->work].stream]);
}

bool SimulatedMover::MinServes(uint32_t work, ChunkIndex chunk) const {
  const Touched touched = TouchedIn(run_.works[work].set, chunk);
  return timing_.Passes(work) * PassNanoseconds(work, chunk, touched) <=
         prices_.decisions.MoveNanoseconds(At(chunk).size());
}

void SimulatedMover::WantByMin(ActiveWork* a) {
  a->in_place.resize(a->uses.size());
  for (size_t i = 0; i < a->uses.size(); ++i) {
    a->in_place[i] = !min_->Keeps(a->work, i) && MinServes(a->work, a->uses[i].chunk);
  }
  a->WantTheRest();
}

Conditions SimulatedMover::ConditionsNow() const {
  return {.moving = AnyMoving(),
          .running = in_flight_ != 0,
          .unmapped = unmapped_,
          .now = InstantOf(now_)};
}

bool SimulatedMover::ReleaseReady() {
  bool any = false;
  bool wants_others = false;
  while (!queue_.empty() && readiness_->Ready(queue_.front(), ConditionsNow(), &wants_others)) {
    ActiveWork* a = Own(queue_.front());
    queue_.Pop(1);
    counts_->Unheld(*a);
    if (!queue_.empty()) patience_.HeadIs(queue_.front()->id, InstantOf(now_));
    unmapped_chunks_->Released(*a);
    a->may_start = now_ + static_cast<uint64_t>(1e3 * prices_.hold_release);
    MarkReleased(a);
    if (plan_maker_) plan_maker_->Released(a);
    TryStart(&streams_[run_.works[a->work].stream]);
    any = true;
  }
  if (any) plan_again_ = true;
  if (wants_others) RemakeQueue();
  return any;
}

Patience::Situation SimulatedMover::Situation() const {
  Patience::Situation at;
  at.moving = !moves_.empty() || call_ != Call::kNone;
  uint64_t known = 0;
  for (const Stream& s : streams_) {
    if (!s.works.empty() && s.works.front()->released && s.works.front()->kernel != 0 && trials_) {
      known = std::max(known, trials_->history().MayTake(s.works.front()->sample));
    }
  }
  at.known = Duration(known);
  queue_.front()->ForEach([&](const ChunkUse& use) { at.wanted += At(use.chunk).size(); });
  at.queued = queue_.size();
  return at;
}

void SimulatedMover::CheckDeadline() {
  if (queue_.empty()) return;
  const Instant now = InstantOf(now_);
  patience_.HeadIs(queue_.front()->id, now);
  if (!patience_.MayBeDue(now)) return;
  const size_t more = queue_.RunInPlace(patience_.Check(Situation(), now).in_place);
  if (more == 0) return;
  patience_.RunsInPlace(now);
  plan_again_ = true;
  RemakeQueue();
}

SimulatedMover::Touched SimulatedMover::TouchedIn(uint32_t set, ChunkIndex chunk) const {
  const uint32_t allocation = chunks_.allocation(chunk);
  const uint64_t begin = chunks_.offset(chunk).value, end = begin + chunks_.size(chunk).value;
  Touched touched;
  for (const RecordedRange& r : run_.set(set)) {
    if (r.allocation != allocation) continue;
    const uint64_t from = std::max(r.offset, begin), to = std::min(r.offset + r.size, end);
    if (from >= to) continue;
    touched.named += Bytes(to - from);
    touched.write |= r.write;
  }
  touched.once = std::min(touched.named, Bytes(end - begin));
  return touched;
}

double SimulatedMover::PassNanoseconds(uint32_t work, ChunkIndex chunk,
                                       const Touched& touched) const {
  const double once = prices_.decisions.ServeNanoseconds(touched.once);
  // Named all by two arguments and written: by one of them it is read.
  const ChunkFacts& facts = FactsOf(chunk);
  const bool both = touched.write && touched.named >= touched.once + touched.once &&
                    !facts.unwritten && work <= facts.unwritten_from && !timing_.Proved(work);
  // On the device, too, it is slower than what only reads: its rate there shows no more than that.
  return both ? std::max(1.0, prices_.both_ways / timing_.Passes(work)) * once : once;
}

void SimulatedMover::MarkReleased(ActiveWork* a) {
  a->released = true;
  let_go_ = std::max(let_go_, a->work + 1);
  a->released_at = InstantOf(now_);
  a->held_at_release = held_time_;
  a->duration = timing_.of(a->work).duration;
  a->launch.resident = a->duration;
  result_.accesses += a->uses.size();
  bool all_there = true;
  double remote_time = 0;
  for (size_t i = 0; i < a->uses.size(); ++i) {
    const ChunkUse& use = a->uses[i];
    Chunk& c = At(use.chunk);
    if (c.on_device) {
      a->launch.fetches += c.unused;
    } else {
      const Touched touched = TouchedIn(a->set, use.chunk);
      remote_time += PassNanoseconds(a->work, use.chunk, touched);
      a->launch.in_place += touched.once;
      ++a->launch.served;
      all_there = false;
    }
    if (min_ != nullptr) {
      ChunkFacts& facts = FactsOf(use.chunk);
      facts.keeps = min_->Keeps(a->work, i);
      facts.next_use = min_->NextUse(a->work, i);
      if (!facts.keeps) droppable_.push_back(use.chunk);
    }
  }
  if (!all_there) {
    const double passes = timing_.Passes(a->work);
    a->launch.passes = passes;
    a->duration += static_cast<uint64_t>(passes * remote_time);
    result_.in_place_time += static_cast<uint64_t>(passes * remote_time);
    a->launch.fetches += a->launch.served;
    result_.served_in_place += a->launch.served;
    result_.bytes_in_place += a->launch.in_place;
  }
  counts_->Released(*a, tracking_ ? policy_.get() : nullptr);
  if (tracking_ && a->kernel != 0 && trials_) trials_->Released(a);
  a->ForEachFixed([this](const ChunkUse& use) {
    // A fingerprint behind it is not followed: the record says whether it was written.
    if (!use.how.write) return;
    FactsOf(use.chunk).written = true;
    if (host_copies_->MayBeWritten(use.chunk, {})) DropHostCopy(use.chunk);
  });
  if (!tracking_) {
    TryStart(&streams_[run_.works[a->work].stream]);
    return;
  }
  a->listed = true;
  if (a->barrier()) {
    host_copies_->AnyMayBeWritten(false, [this](ChunkIndex index) { DropHostCopy(index); });
  }
  ++in_flight_;
}

void SimulatedMover::Finish(ActiveWork* a) {
  counts_->Ended(*a);
  a->ForEach([this](const ChunkUse& use) {
    if (At(use.chunk).dying) Reclaim(use.chunk);
  });
  --active_;
}

absl::Span<const ChunkUse> SimulatedMover::Possible(uint32_t set) {
  if (possible_known_[set]) return possible_[set];
  possible_known_[set] = true;
  const absl::Span<const ChunkIndex> named = chunks_.chunks(set);
  std::vector<ChunkIndex> sorted(named.begin(), named.end());
  absl::c_sort(sorted);
  const bool write =
      absl::c_any_of(chunks_.uses(set), [](const ChunkUse& use) { return use.how.write; });
  std::vector<uint32_t> allocations;
  for (const RecordedRange& r : run_.set(set)) allocations.push_back(r.allocation);
  absl::c_sort(allocations);
  allocations.erase(std::unique(allocations.begin(), allocations.end()), allocations.end());
  for (const uint32_t a : allocations) {
    for (uint32_t i = 0; i < chunks_.count(a); ++i) {
      const ChunkIndex c(chunks_.first(a).value + i);
      if (!absl::c_binary_search(sorted, c)) {
        possible_[set].push_back({c, {.write = write, .possible = true}});
      }
    }
  }
  return possible_[set];
}

}  // namespace vramspan::replay
