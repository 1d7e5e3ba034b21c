#include "runtime/placement/planner.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "runtime/placement/lookahead.h"
#include "runtime/placement/pace.h"
#include "runtime/placement/victims.h"

namespace vramspan {
namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

}  // namespace

struct Planner::Scratch {
  explicit Scratch(EvictionPolicy* policy) : victims(policy, &ahead), pace(&ahead) {}

  // What became of the fetches for one work.
  enum class Outcome {
    kAll,    // None is left that could be planned.
    kShort,  // No room can be made for some of it.
    kLimit,  // The plan is as long as was asked for.
    kEarly,  // They are not due yet.
  };

  void Start(const PlanRequest& request, const ResidencyView& residency);
  void FreeOverBudget(uint64_t bytes, Plan* plan);
  // REQUIRES: the look-ahead goes as far as the head.
  void FetchAll(const PlanRequest& request, Plan* plan);
  Outcome FetchFor(uint32_t work, Plan* plan);
  Outcome MakeRoom(uint32_t work, uint64_t size, Plan* plan);
  void SettleHead(const QueuedWork& work, Outcome outcome, Plan* plan);

  Lookahead ahead;
  Victims victims;
  Pace pace;
  uint32_t head = 0;
  uint32_t max_fetches = 0;
  int64_t room = 0;         // Bytes; negative while more is over budget than may leave.
  uint64_t planned = 0;     // Bytes of the fetches planned.
  uint64_t startable = 0;   // So many of them that chunks leave for them now.
  uint64_t too_large = 0;   // Room cannot be made for this many bytes or more.
  uint64_t head_lacks = 0;  // The smallest chunk that the head lacks and the plan leaves out.
};

Planner::Planner(EvictionPolicy* policy) : scratch_(std::make_unique<Scratch>(policy)) {}
Planner::~Planner() = default;

void Planner::Make(const PlanRequest& request, const ResidencyView& residency, Plan* plan) {
  plan->evict.clear();
  plan->fetch.clear();
  plan->in_place.clear();
  plan->wait = false;
  Scratch& s = *scratch_;
  s.Start(request, residency);
  plan->lacks = s.ahead.missing() != 0;
  s.FreeOverBudget(request.must_free.value, plan);
  if (s.head < s.ahead.works()) s.FetchAll(request, plan);
  s.victims.Finish();
}

void Planner::Scratch::Start(const PlanRequest& request, const ResidencyView& residency) {
  head = request.released;
  ahead.Scan(request, residency);
  victims.Start(residency, ahead.missing() + request.must_free.value, request.max_evictions,
                request.must_free != Bytes(0), request.per_byte);
  if (ahead.works() != 0) pace.Start(request.ahead.value, head > 0, request.per_byte);
  max_fetches = request.max_fetches;
  room = static_cast<int64_t>((request.room + request.room_coming).value);
  planned = 0;
  // What is on its way out already is for fetches that wait for it, not for the link.
  startable = request.startable.value;
  startable += std::min(request.room_coming.value, kNone - startable);
  too_large = head_lacks = kNone;
}

void Planner::Scratch::FetchAll(const PlanRequest& request, Plan* plan) {
  Outcome outcome = FetchFor(head, plan);
  SettleHead(request.queue[head], outcome, plan);
  // What comes later must not take the room that a work waits for.
  if (outcome != Outcome::kAll) return;
  ahead.FindMissing(
      head + 1, ahead.works(), [](uint32_t, uint64_t) { return false; },
      [&](uint32_t work, uint64_t) { return FetchFor(work, plan) != Outcome::kAll; });
}

void Planner::Scratch::FreeOverBudget(uint64_t bytes, Plan* plan) {
  if (bytes == 0) return;
  uint64_t freed = 0;
  victims.TakeUpTo(bytes, Victims::kForAll, &plan->evict, &freed);
  room += static_cast<int64_t>(freed) - static_cast<int64_t>(bytes);
}

Planner::Scratch::Outcome Planner::Scratch::FetchFor(uint32_t work, Plan* plan) {
  Outcome outcome = Outcome::kAll;
  if (ahead.MissingAt(work) == 0) return outcome;
  for (const Need& need : ahead.NeedsOf(work)) {
    if (need.place != Need::Place::kMissing) continue;
    if (plan->fetch.size() >= max_fetches) return Outcome::kLimit;
    const Outcome made = MakeRoom(work, need.size, plan);
    if (made == Outcome::kShort && work == head) {
      // A smaller chunk of the head may still fit, and as much of it as fits is wanted.
      head_lacks = std::min(head_lacks, need.size);
      outcome = made;
      continue;
    }
    if (made != Outcome::kAll) return made;
    room -= static_cast<int64_t>(need.size);
    planned += need.size;
    plan->fetch.push_back(need.chunk);
  }
  return outcome;
}

Planner::Scratch::Outcome Planner::Scratch::MakeRoom(uint32_t work, uint64_t size, Plan* plan) {
  const int64_t lacking = static_cast<int64_t>(size) - room;
  if (lacking <= 0) return Outcome::kAll;
  if (size >= too_large) return Outcome::kShort;
  if (planned >= startable) return Outcome::kLimit;
  if (work > 0) {
    const uint32_t needed_by = victims.NextVictimNeededBy(work);
    if (needed_by <= work) {
      too_large = size;
      return Outcome::kShort;
    }
    if (!pace.Due(work, needed_by, planned)) return Outcome::kEarly;
  }
  uint64_t freed = 0;
  switch (victims.Take(static_cast<uint64_t>(lacking), work, &plan->evict, &freed)) {
    case Victims::Outcome::kTooLittle:
      too_large = size;
      return Outcome::kShort;
    case Victims::Outcome::kTooMany:
      // A large chunk may take the place of more small ones than may leave at once: for the head,
      // begin, or it would wait for ever.
      if (work == head) {
        victims.TakeUpTo(static_cast<uint64_t>(lacking), work, &plan->evict, &freed);
      }
      return Outcome::kLimit;
    case Victims::Outcome::kDone:
      break;
  }
  room += static_cast<int64_t>(freed);
  return Outcome::kAll;
}

void Planner::Scratch::SettleHead(const QueuedWork& work, Outcome outcome, Plan* plan) {
  if (outcome == Outcome::kLimit || outcome == Outcome::kEarly) {
    plan->wait = true;
    return;
  }
  // Only what is left out or pending keeps it waiting.
  if (head_lacks == kNone && ahead.pending() == 0) return;
  uint64_t own_busy = 0;
  for (const ChunkIndex chunk : work.chunks) {
    if (!chunk) continue;
    const Need& need = ahead.Find(chunk);
    if (need.place == Need::Place::kPending) head_lacks = std::min(head_lacks, need.size);
    // What has no claim makes room even for work that names it.
    if (need.place == Need::Place::kBusy && need.claim != Claim::kNone) own_busy += need.size;
  }
  if (head_lacks == kNone) return;
  const int64_t potential =
      room + static_cast<int64_t>(victims.IdleLeft(head) + victims.Busy() - own_busy);
  if (static_cast<int64_t>(head_lacks) <= potential) {
    plan->wait = true;
  } else if (plan->fetch.empty()) {
    plan->in_place.push_back(head);
  }
}

}  // namespace vramspan
