// Asking the planner: which chunks may move at all, what it is shown of the chunks, the work and
// the budget, and whom its answer lets go as it is. Carrying the answer out is mover_moves.cc.
#include <absl/algorithm/container.h>

#include <algorithm>
#include <utility>

#include "runtime/mover/mover_move.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {

// The planner's look at the chunks. Made and used under the memory lock.
class Mover::View final : public ResidencyView {
 public:
  // `stuck`, sorted: chunks that will not come free by themselves.
  View(Mover& mover, bool over_budget, std::vector<ChunkIndex> stuck) VS_NO_THREAD_SAFETY_ANALYSIS
      : mover_(mover),
        over_budget_(over_budget),
        stuck_(std::move(stuck)) {
    if (!mover.queue_.empty()) trial_ = mover.trials_.TrialOf(*mover.queue_.front());
  }

  ChunkView Get(ChunkIndex index) const override VS_NO_THREAD_SAFETY_ANALYSIS {
    const Chunk& c = mover_.memory_.chunks()[index];
    ChunkView v;
    v.size = c.size();
    // A chunk on its way in counts as there: nothing more is to be done for it.
    v.incoming = !c.on_device && c.state == ChunkState::kMoving && c.device_slot != kNoSlot;
    v.on_device = c.on_device || v.incoming;
    v.busy =
        c.in_flight != 0 || (c.on_device && c.in_submission != 0) || c.state == ChunkState::kMoving;
    v.movable = mover_.residency_.Movable(c) &&
                !(c.on_device && c.advice == Advice::kKeepOnDevice && !over_budget_) &&
                !(c.on_device && c.in_submission != 0 && absl::c_binary_search(stuck_, index)) &&
                index != trial_;
    v.prefer_host = Residency::ServedInPlace(c);
    if (v.prefer_host) v.claim = Claim::kNone;
    if (c.advice == Advice::kKeepOnDevice) v.claim = Claim::kKeep;
    return v;
  }

 private:
  Mover& mover_;
  const bool over_budget_;
  const std::vector<ChunkIndex> stuck_;
  ChunkIndex trial_;  // Stays away for the head.
};

bool Mover::DeviceIdle() {
  return absl::c_all_of(streams_.busy(), [](const StreamState* state) {
    return absl::c_all_of(state->in_flight, [&](const StreamWork* work) {
      return work->ended && (!work->end.has_value() || state->Reached(*work->end));
    });
  });
}

Bytes Mover::OverBudget() {
  const Bytes used = memory_.device_pool().used();
  const Bytes budget = memory_.device_pool().budget();
  return used > budget ? used - budget : Bytes(0);
}

Bytes Mover::PipelineBytes() { return vramspan::PipelineBytes(memory_.device_pool().budget()); }

std::vector<ChunkIndex> Mover::StuckChunks() {
  std::vector<ChunkIndex> stuck;
  const Instant now = Now();
  for (const Work* work : queue_) {
    if (!work->in_submission || now - work->submitted_at < kScopePatience) continue;
    work->ForEach([&](const ChunkUse& use) { stuck.push_back(use.chunk); });
  }
  absl::c_sort(stuck);
  return stuck;
}

bool Mover::GiveWayToUnknown() {
  if (counts_.unknown_in_submission() == 0) return false;
  const Instant now = Now();
  const auto stuck = absl::c_find_if(queue_, [&](const Work* work) {
    return work->in_submission && work->access == Access::kUnknown &&
           now - work->submitted_at > kScopePatience;
  });
  if (stuck == queue_.end()) return false;
  for (auto it = queue_.begin(); it != stuck; ++it) {
    look_again_ = look_again_ || !(*it)->run_in_place;
    (*it)->run_in_place = true;
  }
  return true;
}

bool Mover::PlanMoves(std::vector<ChunkIndex>* evict, std::vector<ChunkIndex>* fetch) {
  // Work that may touch anything: it waits until nothing moves, so nothing more begins to.
  if (counts_.barriers() != 0) return false;
  if (trials_.TimedRuns(Now())) return false;
  // Soon more memory may be moved, and nothing is to be given up before.
  if (options_.traced && draining_ != 0) return false;
  if (trials_.PriceQueue(queue_, memory_.device_pool().available())) look_again_ = true;
  if (!queue_.empty() && queue_.front()->kernel != 0 && !queue_.front()->tried &&
      trials_.Try(queue_.front())) {
    ++stats_.trials;
    look_again_ = true;
  }
  // More moves would only keep such work waiting.
  if (!queue_.empty() && queue_.front()->fetch_for_others.empty() &&
      (queue_.front()->barrier() || trials_.OnTrial(*queue_.front())) &&
      readiness_.HasItsMemory(*queue_.front(), ConditionsNow())) {
    return false;
  }
  if (!queue_.empty() && patience_.Starved(queue_.front()->id)) return false;
  if (GiveWayToUnknown()) return false;
  const Bytes over = OverBudget();
  Bytes leaving;
  for (const auto& move : moves_) {
    if (!move->in) leaving += move->size();
  }
  const bool may_fetch = moving_in_ < PipelineBytes();
  const bool may_evict = moving_out_ < PipelineBytes();

  // Released work first, in the order in which it was submitted: it says how far off the rest is.
  std::vector<Work*> planned;
  for (const StreamState* state : streams_.busy()) {
    for (StreamWork* work : state->in_flight) {
      if (work->kind == Work::Kind::kScope) planned.push_back(work);
    }
  }
  const auto earlier = [](const Work* a, const Work* b) { return a->id < b->id; };
  if (planned.size() > kReleasedSeen) {
    const auto seen = planned.end() - kReleasedSeen;
    std::nth_element(planned.begin(), seen, planned.end(), earlier);
    planned.erase(planned.begin(), seen);
  }
  std::sort(planned.begin(), planned.end(), earlier);
  size_t released = planned.size();
  bool first = true;
  for (Work* work : queue_) {
    // What comes after work that may touch anything is not looked at before it has run.
    if (work->access == Access::kUnknown) break;
    const bool leads = first;
    first = first && work->kind == Work::Kind::kEvict;
    if (work->kind == Work::Kind::kEvict) {
      // Not before what was queued earlier has gone: that may want the same memory on the device.
      if (!leads || !may_evict || work->needs_arrival || work->run_in_place) continue;
      for (const ChunkIndex index : work->wanted) {
        const Chunk& c = memory_.chunks()[index];
        if (c.on_device && residency_.Movable(c) && c.in_flight == 0 &&
            c.state != ChunkState::kMoving) {
          evict->push_back(index);
        }
      }
      continue;
    }
    // What is let go as it is runs next, but nothing more is fetched for it.
    if (work->run_in_place && planned.size() == released) ++released;
    if (!work->run_in_place || planned.size() < released) planned.push_back(work);
  }
  if (planned.size() == released && over.value == 0) return !evict->empty();
  std::vector<QueuedWork> works;
  works.reserve(planned.size());
  std::vector<ChunkIndex> with_fetches;  // Of the head: no other waits for any.
  for (const Work* work : planned) {
    absl::Span<const ChunkIndex> wanted = work->wanted;
    if (!work->fetch_for_others.empty() && work == queue_.front()) {
      with_fetches.assign(wanted.begin(), wanted.end());
      with_fetches.insert(with_fetches.end(), work->fetch_for_others.begin(),
                          work->fetch_for_others.end());
      wanted = with_fetches;
    }
    works.push_back({.id = work->id,
                     .chunks = wanted,
                     .duration = options_.traced ? trials_.history().Expected(work->kernel) : 1,
                     .explicit_request = work->kind != Work::Kind::kScope});
  }

  if (options_.traced && works.size() < kExpectedWorks) {
    sequence_.Next(/*skipped=*/0, kExpectedWorks - works.size(), trials_.history(),
                   [&](const QueuedWork& work) { works.push_back(work); });
  }

  PlanRequest request;
  request.released = static_cast<uint32_t>(released);
  request.ahead = std::min(PipelineBytes(), kFetchedAhead);
  request.queue = works;
  request.room = memory_.device_pool().available();
  request.room_coming = leaving;
  // All of it: a cycle may be many times the budget, and what it needs must not look unneeded.
  request.horizon = Bytes(UINT64_MAX);
  request.must_free = over > leaving ? over - leaving : Bytes(0);
  if (options_.traced) request.per_byte = kEarly / options_.prices.move_gb_per_s;
  if (may_fetch) request.startable = PipelineBytes() - moving_in_;
  request.max_fetches = may_fetch ? kMovesAtOnce : 0;
  request.max_evictions = may_evict ? kMovesAtOnce : 0;
  const Plan plan = planner_.Make(request, View(*this, over.value != 0, StuckChunks()));
  for (const uint32_t i : plan.in_place) {
    if (i >= planned.size()) continue;  // Not submitted yet.
    look_again_ = true;
    if (!with_fetches.empty() && planned[i] == queue_.front()) {
      // There is no room for what others want beside what it wants itself.
      unmapped_.NotPlanned(planned[i], Now());
      continue;
    }
    planned[i]->run_in_place = true;
  }
  evict->insert(evict->end(), plan.evict.begin(), plan.evict.end());
  fetch->insert(fetch->end(), plan.fetch.begin(), plan.fetch.end());
  return !evict->empty() || !fetch->empty() || !plan.in_place.empty();
}

}  // namespace vramspan
