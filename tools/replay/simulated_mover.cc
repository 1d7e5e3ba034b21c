// The loop of events, and what the program does.
#include "tools/replay/simulated_mover.h"

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/mix.h"
#include "runtime/placement/move_limits.h"
#include "runtime/scheduler/recording_rule.h"

namespace vramspan::replay {
namespace {

// What a stream takes before a launch blocks: about a thousand entries behind a closed wait, and a
// launch under pressure is three of them, else two.
constexpr uint32_t kMostLaunched = 500;
constexpr double kHeldEntries = 3;
// Events at one moment; far more than work can end, or be submitted, at once.
constexpr uint64_t kMostStill = 1'000'000;

bool IsTraced(const ReplaySetting& setting) { return setting.overlap != ReplayOverlap::kDeclared; }

// Whether memory moves beside launches at all.
bool MovesBeside(const ReplaySetting& setting, const RecordedRun& run) {
  const std::optional<Overlap> overlap = TracedOverlap(setting.overlap);
  return !overlap.has_value() || BesideLaunch(*overlap, Trust::kUntried).moves() ||
         (run.setting.trust_told && BesideLaunch(*overlap, Trust::kProven).moves());
}

SchedulerOptions OptionsOf(const ReplaySetting& setting, const ReplayPrices& prices) {
  return {.traced = IsTraced(setting),
          .device_memory = setting.device_memory,
          .prices = prices.decisions};
}

}  // namespace

SimulatedMover::SimulatedMover(const ChunkedRun& chunks, const Timing& timing,
                               const ReplayPrices& prices, const ReplaySetting& setting,
                               const MinSchedule* min)
    : chunks_(chunks),
      run_(chunks.run()),
      timing_(timing),
      prices_(prices),
      setting_(setting),
      recorder_(std::make_unique<RunRecorder>(&chunks, setting.timeline)),
      memory_(&chunks, prices, setting.device_memory, recorder_.get()),
      streams_(&run_, &timing, recorder_.get()),
      program_(&run_, &timing, &streams_.ends()),
      calls_(prices),
      served_(&chunks, &timing, &memory_, prices),
      policy_(min == nullptr ? MakePolicy(setting.policy).value() : nullptr),
      scheduler_(&memory_.table(), policy_.get(), OptionsOf(setting, prices), this),
      prints_(&memory_, &scheduler_, timing.DeviceRate(), IsTraced(setting)),
      kept_(&chunks, &memory_, setting.pins, setting.device_memory) {
  if (min != nullptr) {
    bound_.emplace(&chunks, min, &served_, &memory_, !MovesBeside(setting, run_));
  }
  scheduler_.Track(Tracking::kAll);
  result_.setting = setting;
}

SimulatedMover::~SimulatedMover() = default;

ReplayResult SimulatedMover::Run() {
  uint64_t still = 0;
  while (Settle()) {
    const uint64_t next = NextEvent();
    VS_CHECK(next != kNever);
    // Something must come of it when time stands still.
    still = next > now_ ? 0 : still + 1;
    VS_CHECK(still < kMostStill);
    Pass(std::max(next, now_));
  }
  return Finish();
}

bool SimulatedMover::Settle() {
  EndWork();
  // What has ended is known before the program goes on because of it.
  if (tracking_) Act();
  Program();
  while (tracking_ && Act()) Program();
  return !program_.done() || streams_.active() != 0;
}

ReplayResult SimulatedMover::Finish() {
  const uint64_t last = std::max(streams_.last_end(), program_.time());
  result_.begun = std::min(result_.begun, program_.time());
  result_.predicted = last - result_.begun;
  const std::vector<uint64_t>& ends = streams_.ends();
  result_.round = timing_.phases().main().Median(ends);
  for (const Rounds& phase : timing_.phases().all()) result_.phases.push_back(phase.Median(ends));
  result_.repeated = timing_.phases().Repeated(ends);
  const Moves::Counts& moves = scheduler_.moves().counts();
  result_.moves_in = moves.fetches;
  result_.moves_out = moves.evictions;
  result_.bytes_in = moves.in;
  result_.bytes_out = moves.out;
  result_.fetches = result_.moves_in + result_.served_in_place;
  recorder_->Finish(last, &result_);
  return std::move(result_);
}

void SimulatedMover::SetBudget(Bytes budget) {
  calls_.Owe(memory_.SetBudget(budget));
  kept_.SetBudget(budget);
  const bool is_short = memory_.used() > budget;
  const bool filling = is_short || IsFilling(memory_.used(), budget);
  tracking_ |= MustRecord(IsTraced(setting_), is_short, filling);
  rest_.Told();
  scheduler_.LookAgain();
}

WorkSeen SimulatedMover::work_seen() const {
  const Duration stalled = stalls_.calls + stalls_.copies + stalls_.drain;
  return {.works = gate_.passed,
          .stalled = NanosecondsOf(Instant(stalled)),
          .may_hold = true,
          .runs = tracking_ && streams_.active() != 0,
          .waits = gate_.waited_at};
}

Moment SimulatedMover::At() const {
  return {.now = InstantOf(now_),
          .budget = memory_.budget(),
          .used = memory_.used(),
          .available = memory_.available(),
          .follows_writers = IsTraced(setting_) && memory_.host_used()};
}

uint64_t SimulatedMover::NextEvent() {
  const uint64_t next = std::min({calls_.NextEvent(), streams_.NextEnd(), program_.NextEvent()});
  if (!tracking_ || calls_.calling()) return next;
  const Instant behind = next == kNever ? Instant::max() : InstantOf(next + 1);
  const Instant due = scheduler_.Due(At(), behind);
  rest_.Until(due);
  return due == behind ? next : NanosecondsOf(due);
}

void SimulatedMover::Pass(uint64_t to) {
  const Duration passed(static_cast<int64_t>(to - now_));
  if (!scheduler_.queue().empty()) {
    stalls_.Add(passed, calls_.calling() ? passed : Duration(0), scheduler_.moves().size() != 0);
  }
  now_ = to;
  calls_.Advance(now_, [this](uint32_t place) {
    ChunkMove* const move = moves_[place];
    std::optional<Fingerprint> print;
    if (move->print) print = memory_.PrintOf(move->chunk, memory_.facts(move->chunk).version);
    rest_.Told();
    scheduler_.moves().Copied(move, {.print = print});
  });
  const Action ended = calls_.TakeEnded(now_);
  if (ended.kind != Action::Kind::kNothing) EndCall(ended);
}

void SimulatedMover::Program() {
  for (;;) {
    program_.GiveUp(chunks_, [this](ChunkIndex chunk, RecordedDiscard::Kind kind) {
      if (!tracking_) return;
      const bool owned = kind == RecordedDiscard::Kind::kOwned;
      if (owned && !memory_[chunk].freed()) return;
      rest_.Told();
      if (owned) {
        scheduler_.work().Owned(chunk);
      } else {
        scheduler_.work().GivenUp(chunk, kind == RecordedDiscard::Kind::kUnowned);
      }
    });
    const RecordedStep* const step = program_.Next(now_, tracking_);
    if (step == nullptr) return;
    bool taken = true;
    rest_.Told();
    if (step->kind == RecordedStep::Kind::kWork) {
      taken = Submits(step->index);
    } else if (step->kind == RecordedStep::Kind::kAllocate) {
      taken = Allocates(step->index);
    } else {
      Frees(step->index);
      program_.Took(now_, 0);
    }
    if (taken) continue;
    program_.Wait();
    return;
  }
}

bool SimulatedMover::Submits(uint32_t work) {
  gate_.waited_at = gate_.closed && tracking_;
  if (gate_.waited_at) return false;
  const WorkKind kind = run_.works[work].kind;
  const bool kernels = kind == WorkKind::kKernel || kind == WorkKind::kGraph;
  if (streams_.active() >= kMostLaunched || scheduler_.work().Full(kernels)) return false;
  if (work == 0) result_.begun = now_;
  gate_.passed += tracking_;
  ActiveWork* a = NewWork(work);
  Submit(a);
  const bool held = a->held;
  double calls = 0;
  if (!IsTraced(setting_)) {
    calls = held ? kHeldEntries * prices_.hold_call : 0;
  } else if (tracking_) {
    // What was recorded with memory short has it already.
    calls = (run_.moves.empty() ? prices_.short_call : 0) + (held ? prices_.hold_call : 0);
  }
  program_.Took(now_, static_cast<uint64_t>(1e3 * calls));
  return true;
}

bool SimulatedMover::Allocates(uint32_t allocation) {
  Bytes wanted;
  for (uint32_t i = 0; i < chunks_.count(allocation); ++i) {
    wanted += chunks_.size(ChunkIndex(chunks_.first(allocation).value + i));
  }
  // Freed memory whose work has yet to end is better than host memory.
  if (wanted > memory_.available() && memory_.dying() != 0) return false;
  if (chunks_.count(allocation) == 0) {
    memory_.AddPacked(now_, run_.allocations[allocation].size);
  }
  uint64_t pays = 0;
  bool on_host = false;
  for (uint32_t i = 0; i < chunks_.count(allocation); ++i) {
    const ChunkIndex chunk(chunks_.first(allocation).value + i);
    if (bound_) bound_->Allocated(chunk);
    if (memory_.Add(now_, chunk, allocation)) {
      if (policy_ != nullptr) policy_->OnInsert(chunk);
    } else {
      on_host = true;
      pays += memory_.MakeHost(chunk);
    }
  }
  const bool is_short = on_host || memory_.used() > memory_.budget();
  const bool filling = is_short || IsFilling(memory_.used(), memory_.budget());
  tracking_ |= MustRecord(IsTraced(setting_), is_short, filling);
  kept_.Made(allocation);
  program_.Took(now_, pays);
  return true;
}

void SimulatedMover::Frees(uint32_t allocation) {
  if (chunks_.count(allocation) == 0) {
    memory_.RemovePacked(now_, run_.allocations[allocation].size);
  }
  for (uint32_t i = 0; i < chunks_.count(allocation); ++i) {
    const ChunkIndex chunk(chunks_.first(allocation).value + i);
    memory_.Free(chunk);
    Reclaim(chunk);
  }
  kept_.Freed(allocation);
  scheduler_.LookAgain();
}

void SimulatedMover::Reclaim(ChunkIndex chunk) {
  bool was_on_device = false;
  if (!memory_.Reclaim(now_, chunk, &was_on_device) || !was_on_device) return;
  if (policy_ != nullptr) policy_->OnRemove(chunk);
  scheduler_.LookAgain();
}

ActiveWork* SimulatedMover::NewWork(uint32_t work) {
  ActiveWork* const a = streams_.New(work);
  const RecordedWork& w = run_.works[work];
  a->set = w.set;
  a->uses = chunks_.uses(w.set);
  a->wanted.chunks = chunks_.chunks(w.set);
  a->wanted.version = uint64_t{w.set} + 1;
  a->came = now_;
  a->submitted_at = InstantOf(now_);
  a->submitted = true;
  a->at_submission = stalls_;
  a->launch.code = w.code;
  // No more than compared: whoever writes behind another in its stream.
  a->submitter.stream_key = reinterpret_cast<const void*>(uintptr_t{w.stream} + 1);
  const bool declared = !IsTraced(setting_) || w.kind == WorkKind::kDeclared;
  const bool launch = w.kind == WorkKind::kKernel || w.kind == WorkKind::kGraph;
  const Beside beside = declared || !launch
                            ? Beside{.access = Access::kExact}
                            : BesideLaunch(*TracedOverlap(setting_.overlap), w.trust);
  a->access = w.kind == WorkKind::kUnknown || w.kind == WorkKind::kForeign ? Access::kUnknown
              : !w.complete                                                ? Access::kPartial
                                                                           : beside.access;
  if (declared || !launch) return a;
  a->kernel = Mix(run_.alike(w.code) + 1, RoughSize(timing_.bytes(w.set))) | 1;
  if (beside.moves()) {
    const auto chunk_of = [this](ChunkIndex c) -> const Chunk& { return memory_[c]; };
    const KnownSets& known = chunks_.known(beside.beyond_ends);
    const KnownSets::Uses uses = known.PossibleOf(w.set, chunk_of, &a->all);
    a->possible = uses.stay;
    a->mapped_only = uses.mapped_only;
  }
  return a;
}

}  // namespace vramspan::replay
