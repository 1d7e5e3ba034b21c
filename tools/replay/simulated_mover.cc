// The loop of events, the program's thread and the device's streams.
#include "tools/replay/simulated_mover.h"

#include <absl/algorithm/container.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/mix.h"
#include "runtime/placement/move_limits.h"
#include "tools/replay/run_recorder.h"
#include "tools/replay/unwritten.h"

namespace vramspan::replay {
namespace {

// What a stream takes before a launch blocks: about a thousand entries behind a closed wait, and a
// launch under pressure is three of them, else two.
constexpr uint32_t kMostLaunched = 500;
constexpr double kHeldEntries = 3;
constexpr uint64_t kUnmappedIdle = Duration(UnmappedChunks::kIdle).count();
// Events at one moment; far more than work can end, or be submitted, at once.
constexpr uint64_t kMostStill = 1'000'000;

}  // namespace

SimulatedMover::SimulatedMover(const ChunkedRun& chunks, const Timing& timing,
                               const ReplayPrices& prices, const ReplaySetting& setting,
                               const MinSchedule* min)
    : chunks_(chunks),
      run_(chunks.run()),
      timing_(timing),
      prices_(prices),
      setting_(setting),
      min_(min),
      traced_(setting.overlap != ReplayOverlap::kDeclared),
      prints_(traced_ && setting.overlap != ReplayOverlap::kOff),
      ends_(run_.works.size(), kNever),
      facts_(chunks.end()),
      pins_(setting.pins, setting.device_memory),
      pinned_(setting.pins.size(), Pins::kNone),
      link_(prices),
      slots_(prices),
      set_hash_(run_.sets()),
      recorder_(std::make_unique<RunRecorder>(&chunks, setting.timeline)) {
  uint32_t streams = 0;
  for (const RecordedWork& w : run_.works) streams = std::max(streams, w.stream + 1);
  streams_.resize(streams);
  // An entry for each, whether or not it lives yet: ids are never used twice.
  StatusOr<std::unique_ptr<ChunkTable>> table = ChunkTable::Create(std::max(chunks.end(), 2u) - 1);
  VS_CHECK(table.ok());
  chunk_ = *std::move(table);
  for (uint32_t c = 1; c < chunks.end(); ++c) {
    VS_CHECK(chunk_->Add().value().value == c);
    Chunk& chunk = At(ChunkIndex(c));
    while (chunk.size() < chunks.size(ChunkIndex(c))) ++chunk.log2_size;
    chunk.movable = true;
  }
  residency_ = std::make_unique<Residency>(chunk_.get());
  residency_->Track(Tracking::kAll);
  if (min == nullptr) {
    policy_ = MakePolicy(setting.policy).value();
    trials_.emplace(residency_.get(), policy_.get(), prices.decisions, setting.device_memory);
  }
  counts_.emplace(residency_.get());
  unmapped_chunks_.emplace(residency_.get(), &queue_, &*counts_, Duration(kDeadline));
  host_copies_.emplace(residency_.get());
  readiness_.emplace(residency_.get(), &*unmapped_chunks_, trials_ ? &*trials_ : nullptr);
  if (trials_) {
    plan_maker_.emplace(PlanSources{residency_.get(), &queue_, &*counts_, &*readiness_,
                                    &*unmapped_chunks_, &*trials_, &sequence_, &patience_},
                        policy_.get(), prices.decisions, traced_);
  }
  if (setting.overlap == ReplayOverlap::kSafe || setting.overlap == ReplayOverlap::kAll) {
    possible_.resize(run_.sets());
    possible_known_.resize(run_.sets());
  }
  for (uint32_t a = 0; const bool unwritten : UnwrittenByMoves(run_)) {
    for (uint32_t i = 0; i < chunks.count(a); ++i) {
      facts_[chunks.first(a).value + i].unwritten = unwritten;
    }
    ++a;
  }
  for (uint32_t c = 0; const uint32_t from : UnwrittenByFingerprints(chunks)) {
    facts_[c++].unwritten_from = from;
  }
  result_.setting = setting;
}

SimulatedMover::~SimulatedMover() = default;

ReplayResult SimulatedMover::Run() {
  uint64_t still = 0;
  for (;;) {
    EndWorks();
    // What has ended is known before the program goes on because of it.
    if (tracking_) Round();
    Host();
    while (tracking_ && Round()) Host();
    if (step_ == run_.steps.size() && active_ == 0) break;
    const uint64_t next = NextEvent();
    VS_CHECK(next != kNever);
    // Something must come of it when time stands still.
    still = next > now_ ? 0 : still + 1;
    VS_CHECK(still < kMostStill);
    Pass(std::max(next, now_));
  }
  const uint64_t first = run_.works.empty() ? 0 : first_submission_;
  result_.predicted = std::max(last_end_, host_time_) - std::min(first, host_time_);
  result_.round = timing_.phases().main().Median(ends_);
  for (const Rounds& phase : timing_.phases().all()) result_.phases.push_back(phase.Median(ends_));
  result_.repeated = timing_.phases().Repeated(ends_);
  result_.fetches = result_.moves_in + result_.served_in_place;
  recorder_->Finish(std::max(last_end_, host_time_), &result_);
  return std::move(result_);
}

uint64_t SimulatedMover::NextEvent() const {
  uint64_t next = link_.NextEnd();
  if (!waiting_.empty()) next = std::min(next, waiting_.front().time);
  if (!running_.empty()) next = std::min(next, running_.top().time);
  if (host_timed_ && host_wait_ == HostWait::kNothing) next = std::min(next, host_next_);
  if (call_ != Call::kNone) return std::min(next, call_end_);
  const bool timed = trials_ && trials_->TimedRuns(InstantOf(now_));
  if (timed) next = std::min(next, NanosecondsOf(trials_->timed_until()));
  if (trials_ && !queue_.empty() && trials_->OnTrial(*queue_.front()) && trials_->WaitsUntil()) {
    const uint64_t until = NanosecondsOf(*trials_->WaitsUntil());
    if (until > now_) next = std::min(next, until);
  }
  if (!queue_.empty() && moves_.empty()) {
    // With more known it is not earlier, and that takes looking up.
    if (next > NanosecondsOf(patience_.Due({}))) {
      next = std::min(next, std::max(now_, NanosecondsOf(patience_.Due(Situation()))));
    }
    const uint64_t shown = NanosecondsOf(unmapped_chunks_->Due(*queue_.front()));
    if (shown > now_) next = std::min(next, shown);
  }
  if (unmapped_ != 0 && queue_.empty() && active_ == 0 && moves_.empty() && mapping_.empty()) {
    next = std::min(next, std::max(now_, last_progress_ + kUnmappedIdle + 1));
  }
  const bool may_look =
      tracking_ && traced_ && min_ == nullptr && !timed && used_ <= setting_.device_memory;
  if (may_look && idle_fetches_.due() && queue_.empty() && moves_.empty() &&
      counts_->barriers() == 0) {
    next = std::min(next, std::max(now_, NanosecondsOf(idle_fetches_.not_before())));
  }
  return next;
}

void SimulatedMover::Pass(uint64_t to) {
  const uint64_t passed = to - now_;
  if (!queue_.empty()) {
    (call_ != Call::kNone ? held_time_.vmm
     : moves_.empty()     ? held_time_.drain
                          : held_time_.copy) += passed;
  }
  now_ = to;
  link_.Advance(now_);
  for (; !waiting_.empty() && waiting_.front().time <= now_; waiting_.pop_front()) {
    link_.Start(/*in=*/false, waiting_.front().size, waiting_.front().tag);
  }
  if (link_.any_done()) {
    for (const uint64_t tag : link_.TakeDone()) {
      FindMove(tag)->copied = true;
      ++copied_;
    }
  }
  if (call_ != Call::kNone && call_end_ <= now_) EndRemap();
}

void SimulatedMover::Host() {
  for (; step_ < run_.steps.size(); ++step_) {
    const RecordedStep& step = run_.steps[step_];
    if (!host_timed_) {
      const StepTiming& t = timing_.step(step_);
      host_next_ = host_time_ + t.think;
      if (t.after != kNoWork) {
        host_wait_ = HostWait::kWork;
        if (ends_[t.after] == kNever) return;
        host_next_ = std::max(host_next_, ends_[t.after]);
      }
      // Where memory is short, a launch takes as long as that to be looked at, recorded or not.
      host_next_ = host_next_ + t.rest - (tracking_ ? 0 : t.recording);
      host_timed_ = true;
      host_wait_ = HostWait::kNothing;
    }
    if (host_next_ > now_) return;
    if (step.kind == RecordedStep::Kind::kWork) {
      if (!HostSubmits(step.index)) return;
    } else if (step.kind == RecordedStep::Kind::kAllocate) {
      if (!HostAllocates(step.index)) return;
      host_time_ = now_ + std::exchange(host_pays_, 0);
    } else {
      Free(step.index);
      host_time_ = now_;
    }
    host_wait_ = HostWait::kNothing;
    host_timed_ = false;
  }
}

bool SimulatedMover::HostSubmits(uint32_t work) {
  if (active_ >= kMostLaunched) {
    host_wait_ = HostWait::kStream;
    return false;
  }
  const WorkKind kind = run_.works[work].kind;
  const bool kernels = kind == WorkKind::kKernel || kind == WorkKind::kGraph;
  if (queue_.size() >= (kernels ? kMostHeldKernels : kMostHeld)) {
    host_wait_ = HostWait::kQueue;
    return false;
  }
  if (work == 0) first_submission_ = now_;
  host_time_ = now_;
  ++submitted_;
  ActiveWork* a = NewWork(work);
  Submit(a);
  double calls = 0;
  if (!traced_) {
    calls = a->held ? kHeldEntries * prices_.hold_call : 0;
  } else if (tracking_) {
    // What was recorded with memory short has it already.
    calls = (run_.moves.empty() ? prices_.short_call : 0) + (a->held ? prices_.hold_call : 0);
  }
  host_time_ += static_cast<uint64_t>(1e3 * calls);
  return true;
}

bool SimulatedMover::HostAllocates(uint32_t allocation) {
  Bytes wanted;
  for (uint32_t i = 0; i < chunks_.count(allocation); ++i) {
    wanted += chunks_.size(ChunkIndex(chunks_.first(allocation).value + i));
  }
  if (wanted > Available() && dying_ != 0) {
    host_wait_ = HostWait::kFreed;
    return false;
  }
  Allocate(allocation);
  return true;
}

void SimulatedMover::Allocate(uint32_t allocation) {
  if (chunks_.count(allocation) == 0) {
    used_ += run_.allocations[allocation].size;
    recorder_->Packed(now_, run_.allocations[allocation].size, /*came=*/true);
  }
  for (uint32_t i = 0; i < chunks_.count(allocation); ++i) {
    const ChunkIndex index(chunks_.first(allocation).value + i);
    Chunk& c = At(index);
    ChunkFacts& facts = FactsOf(index);
    MarkChanged(index);
    c.allocation = allocation + 1;
    c.Transition(ChunkState::kFresh);
    if (min_ != nullptr) {
      facts.keeps = min_->KeepsFirst(index);
      facts.next_use = min_->FirstUse(index);
      if (!facts.keeps) droppable_.push_back(index);
    }
    if (c.size() > Available()) {
      tracking_ = true;
      host_pays_ += HostMemoryFor(index);
      c.Transition(ChunkState::kHost);
      continue;
    }
    c.on_device = true;
    c.Transition(ChunkState::kDevice);
    used_ += c.size();
    slots_.Take(c.log2_size, /*alias=*/false, Available(), &facts.alias);
    if (policy_ != nullptr) policy_->OnInsert(index);
    recorder_->Came(now_, index, /*fetched=*/false);
  }
  if (!traced_ && IsFilling(used_, setting_.device_memory)) tracking_ = true;
  if (const uint32_t pin = pins_.Made(run_.allocations[allocation].size); pin != Pins::kNone) {
    pinned_[pin] = allocation;
    KeepByPins();
  }
}

void SimulatedMover::KeepByPins() {
  for (const Pins::Change& change : pins_.Changes()) {
    const uint32_t a = pinned_[change.pin];
    for (uint32_t i = 0; i < chunks_.count(a); ++i) {
      const ChunkIndex index(chunks_.first(a).value + i);
      At(index).advice = change.keep ? Advice::kKeepOnDevice : Advice::kNone;
      MarkChanged(index);
    }
  }
}

uint64_t SimulatedMover::HostMemoryFor(ChunkIndex index) {
  if (std::exchange(FactsOf(index).has_host, true)) return 0;
  const int size = At(index).log2_size - kMinChunkLog2;
  if (spare_host_[size] != 0) {
    --spare_host_[size];
    return 0;
  }
  const double begin = std::exchange(begun_, true) ? 0 : prices_.begin;
  return static_cast<uint64_t>(1e3 * (begin + prices_.host[size].create));
}

void SimulatedMover::Free(uint32_t allocation) {
  if (chunks_.count(allocation) == 0) {
    used_ -= run_.allocations[allocation].size;
    recorder_->Packed(now_, run_.allocations[allocation].size, /*came=*/false);
  }
  for (uint32_t i = 0; i < chunks_.count(allocation); ++i) {
    const ChunkIndex index(chunks_.first(allocation).value + i);
    MarkChanged(index);
    At(index).dying = true;
    ++dying_;
    Reclaim(index);
  }
  if (const auto pinned = absl::c_find(pinned_, allocation); pinned != pinned_.end()) {
    *pinned = Pins::kNone;
    pins_.Gone(static_cast<uint32_t>(pinned - pinned_.begin()));
    KeepByPins();
  }
  plan_again_ = true;
  idle_fetches_.LookAgain();
}

void SimulatedMover::Reclaim(ChunkIndex index) {
  Chunk& c = At(index);
  if (!c.dying || c.in_flight != 0 || c.queued != 0 || c.mapped_only != 0 || Moving(c) ||
      c.state == ChunkState::kNone) {
    return;
  }
  MarkChanged(index);
  c.Transition(ChunkState::kNone);
  spare_host_[c.log2_size - kMinChunkLog2] += std::exchange(FactsOf(index).has_host, false);
  --dying_;
  if (c.unmapped) --unmapped_;
  c.unmapped = false;
  if (!c.on_device) return;
  c.on_device = false;
  used_ -= c.size();
  slots_.Give(c.log2_size, FactsOf(index).alias);
  if (policy_ != nullptr) policy_->OnRemove(index);
  recorder_->Left(now_, index);
  plan_again_ = true;
  idle_fetches_.LookAgain();
}

ActiveWork* SimulatedMover::NewWork(uint32_t work) {
  if (spare_.empty()) {
    works_.emplace_back();
    spare_.push_back(&works_.back());
  }
  ActiveWork* a = spare_.back();
  spare_.pop_back();
  const RecordedWork& w = run_.works[work];
  a->Renew();
  a->work = work;
  a->id = work;
  a->set = w.set;
  a->code = w.code;
  a->uses = chunks_.uses(w.set);
  a->wanted = chunks_.chunks(w.set);
  a->version = uint64_t{w.set} + 1;
  a->submitted = now_;
  a->submitted_at = InstantOf(now_);
  a->held_at_submission = held_time_;
  a->launch.code = w.code;

  const bool declared = !traced_ || w.kind == WorkKind::kDeclared;
  const bool launch = w.kind == WorkKind::kKernel || w.kind == WorkKind::kGraph;
  a->access = w.kind == WorkKind::kUnknown                                     ? Access::kUnknown
              : !w.complete                                                    ? Access::kPartial
              : !declared && launch && setting_.overlap == ReplayOverlap::kOff ? Access::kPartial
                                                                               : Access::kExact;
  if (!declared && launch) {
    a->kernel = Mix(w.code + 1, RoughSize(timing_.bytes(w.set))) | 1;
  }
  if (!declared && !possible_.empty() && launch) {
    (setting_.overlap == ReplayOverlap::kAll ? a->mapped_only : a->possible) = Possible(w.set);
  }
  ++active_;
  return a;
}

void SimulatedMover::EndWorks() {
  bool any = false;
  while (!running_.empty() && running_.top().time <= now_) {
    ActiveWork* a = running_.top().work;
    running_.pop();
    Stream& s = streams_[run_.works[a->work].stream];
    s.works.pop_front();
    s.last_end = now_;
    s.last_end_at = held_time_;
    last_end_ = now_;
    ends_[a->work] = now_;
    any = true;
    if (a->listed) {
      ended_.push_back(a);
    } else {
      Finish(a);
      spare_.push_back(a);
    }
    TryStart(&s);
  }
  if (!any || waiting_streams_ == 0) return;
  for (Stream& s : streams_) {
    if (s.waits) TryStart(&s);
  }
}

void SimulatedMover::TryStart(Stream* stream) {
  if (stream->works.empty() || stream->works.front()->started) return;
  ActiveWork* a = stream->works.front();
  const WorkTiming& t = timing_.of(a->work);
  if (!a->ready_known) {
    if (t.after != kNoWork && ends_[t.after] == kNever) {
      waiting_streams_ += stream->waits ? 0 : 1;
      stream->waits = true;
      return;
    }
    waiting_streams_ -= stream->waits ? 1 : 0;
    stream->waits = false;
    a->ready = std::max(a->submitted, stream->last_end);
    a->held_at_ready = a->ready == a->submitted ? a->held_at_submission : stream->last_end_at;
    if (t.after != kNoWork && ends_[t.after] > a->ready) {
      a->ready = ends_[t.after];
      a->held_at_ready = held_time_;
    }
    a->ready_known = true;
  }
  if (!a->released) return;
  const uint64_t unheld = a->ready + t.lag;
  uint64_t pass = 0, mark = 0;
  // Declared work had them when it was recorded.
  if (tracking_ && traced_) {
    const bool beside = link_.copies_in();
    if (a->held) pass = static_cast<uint64_t>(1e3 * (beside ? prices_.pass_beside : prices_.pass));
    mark = static_cast<uint64_t>(1e3 * (beside ? prices_.mark_beside : prices_.mark));
  }
  a->start = std::max(unheld + pass, a->may_start);
  a->end = a->start + a->duration + mark;
  a->started = true;
  running_.push({a->end, end_order_++, a});

  RunRecorder::Launch& launch = a->launch;
  launch.start = a->start;
  launch.took = a->duration;
  if (const uint64_t stalled = a->start - unheld; stalled != 0) {
    // What is neither a copy's time nor a drain's: calls, and the way from being let go to the
    // start. Time before it was `unheld` does not count, in proportion.
    const HeldTime& to = a->held_at_release;
    const HeldTime& from = InstantOf(a->ready) < a->released_at ? a->held_at_ready : to;
    const uint64_t copy = to.copy - from.copy, drain = to.drain - from.drain;
    const uint64_t all = std::max(stalled, a->start - a->ready);
    launch.stall.copy = stalled * copy / all;
    launch.stall.drain = stalled * drain / all;
    launch.stall.vmm = stalled - launch.stall.copy - launch.stall.drain;
  }
  recorder_->Add(launch);
}

}  // namespace vramspan::replay
