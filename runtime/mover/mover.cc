// The mover's thread: polls what has finished, lets go what is ready, and keeps the promise that
// nothing waits for ever.
#include "runtime/mover/mover.h"

#include <absl/algorithm/container.h>
#include <absl/cleanup/cleanup.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/mover/mover_ended_threads.h"
#include "runtime/mover/mover_move.h"

namespace vramspan {
namespace {

// How long a closing gate waits for threads that are inside it; see Gate.
constexpr std::chrono::milliseconds kGateDeadline{20};
// Polling without a pause for this long after the last progress, then with short sleeps.
constexpr std::chrono::microseconds kSpin{200};
constexpr std::chrono::microseconds kShortSleep{20};
constexpr std::chrono::milliseconds kLongSleep{1};
constexpr size_t kArrivalScan = 256;
constexpr std::chrono::milliseconds kHealthPeriod{100};
// Between two looks while there is something to wait for: the lock is free for others meanwhile.
constexpr std::chrono::microseconds kBetweenLooks{3};

// What a context that cannot go on answers to everything.
bool IsFatal(CUresult result) {
  switch (result) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

}  // namespace

Mover::Mover(Memory* memory, const MoverOptions& options)
    : memory_(*memory),
      driver_(memory->shared_driver()),
      options_(options),
      stream_caches_(NextStreamCaches()),
      ended_threads_(std::make_shared<EndedThreads>(this)),
      streams_(driver_),
      residency_(&memory->chunks()),
      counts_(&residency_),
      host_copies_(&residency_),
      trials_(&residency_, &memory->policy(), options.prices, memory->device_pool().budget()),
      patience_(options.deadline),
      unmapped_(&residency_, &queue_, &counts_, options.deadline),
      readiness_(&residency_, &unmapped_, &trials_),
      plan_maker_({&residency_, &queue_, &counts_, &readiness_, &unmapped_, &trials_, &sequence_,
                   &patience_},
                  &memory->policy(), options.prices, options.traced),
      last_progress_(Clock::now()) {
  if (options.traced && options.own_context && options.fingerprints) LoadFingerprints();
}

StatusOr<std::unique_ptr<Mover>> Mover::Start(Memory* memory, const MoverOptions& options) {
  std::unique_ptr<Mover> mover(new Mover(memory, options));
  VS_ASSIGN_OR_RETURN(mover->thread_,
                      StartThread("vramspan-mover", [raw = mover.get()] { raw->Loop(); }));
  return mover;
}

Mover::~Mover() {
  ended_threads_->Detach();
  if (thread_.joinable()) {
    MutexLock lock(memory_.mu);
    WakeThread();
    WaitUntil([this]() VS_NO_THREAD_SAFETY_ANALYSIS { return Idle(); });
    stop_ = true;
    WakeThread();
  }
  thread_.Join();
  others_.Join();
  ScopedContext current(*driver_, memory_.options().context);
  driver_->RecordBackgroundError(current.status());
  copy_.reset();
  fingerprints_.reset();
  CUstream health;
  {
    // Here, where the context is current: the program's thread may have let go of it.
    MutexLock lock(memory_.mu);
    streams_.FreePages();
    health = health_;
  }
  if (health == nullptr) return;
  driver_->RecordBackgroundError(
      Check((*driver_)->StreamDestroy(health), "cuStreamDestroy", "of the mover"));
}

void Mover::Loop() {
  const OwnCalls own;
  // For the thread's whole life: its queries must not ruin a capture, hence the relaxed mode.
  std::optional<ScopedContext> current;
  for (bool ended = false; !ended;) {
    try {
      ended = Turn(&current);
    } catch (const std::exception& e) {
      Rest(e.what());
    }
  }
}

bool Mover::Turn(std::optional<ScopedContext>* current) {
  if (!current->has_value() || !(*current)->status().ok()) {
    current->emplace(*driver_, memory_.options().context);
    MutexLock lock(memory_.mu);
    RecordError((*current)->status());
  }
  const bool progress = Round();
  AccountStall();
  const auto now = Clock::now();
  if (progress) last_progress_ = now;
  {
    MutexLock lock(memory_.mu);
    if (stop_ && !progress) return true;
    if (progress) patience_.Progressed(InstantOf(now));
    CheckDeadline();
  }
  if (!progress) Pause();
  return false;
}

void Mover::Rest(const char* why) {
  {
    MutexLock lock(memory_.mu);
    StopTracking();
    unmapped_.KeepMappedUntil(Instant::max());
    unmapped_.MapAll(memory_.any_unmapped());
    for (Work* work : queue_) work->run_in_place = true;
    plan_maker_.Remake();
    if (!std::exchange(resting_, true)) {
      char text[256];  // There may be no memory for more.
      std::snprintf(text, sizeof(text),
                    "no memory moves from here on, after an exception in the mover's thread (%s): "
                    "the program goes on with its memory where it is",
                    why);
      Log(LogLevel::kError, text);
    }
  }
  std::this_thread::sleep_for(kLongSleep);
}

void Mover::AccountStall() {
  const auto now = Clock::now();
  MutexLock lock(memory_.mu);
  // The queue was not empty at the last look. It may be by now: what ends a stall counts as well.
  if (stall_since_ != Clock::time_point()) {
    const auto since = static_cast<uint64_t>((now - stall_since_).count());
    const uint64_t vmm = std::min(since, stats_.vmm_ns - stall_vmm_);
    const bool moved = stall_moves_ || !moves_.empty();
    stats_.stall_vmm_ns += vmm;
    (moved ? stats_.stall_copy_ns : stats_.stall_drain_ns) += since - vmm;
  }
  stall_since_ = queue_.empty() ? Clock::time_point() : now;
  stall_moves_ = !moves_.empty();
  stall_vmm_ = stats_.vmm_ns;
}

bool Mover::Round() {
  {
    MutexLock lock(memory_.mu);
    look_again_ = false;
    if (!memory_.any_unmapped()) unmapped_.AllMapped();
  }
  bool progress = TryStartTracking();
  if (!tracking_.load(std::memory_order_relaxed)) {
    // Nothing is recorded yet, but streams may have been forgotten.
    MutexLock lock(memory_.mu);
    return PollFinished() || progress;
  }
  {
    MutexLock lock(memory_.mu);
    progress |= PollFinished();
    progress |= PollArrivals();
    progress |= ReleaseReady();
  }
  progress |= StartMoves();
  bool changed = FinishMoves();
  changed |= MapChunksOnHost();
  if (changed) {
    progress = true;
    MutexLock lock(memory_.mu);
    ReleaseReady();
  }
  if (memory_.has_dying()) progress |= memory_.Reclaim();
  return progress;
}

void Mover::Pause() {
  const auto idle = Clock::now() - last_progress_;
  MutexLock lock(memory_.mu);
  if (look_again_ || stop_) return;
  done_.NotifyAll();
  const bool active = !queue_.empty() || !moves_.empty() || !detached_.empty();
  if ((active && idle < kSpin) || trials_.TimedRuns(Now())) {
    memory_.mu.Unlock();
    std::this_thread::yield();
    for (const auto until = Clock::now() + kBetweenLooks; Clock::now() < until;) {
    }
    memory_.mu.Lock();
    return;
  }
  sleeping_ = true;
  if (active) {
    wake_.WaitFor(memory_.mu, kShortSleep);
  } else if (works_in_submission_ != 0 || draining_ != 0 || memory_.has_dying() ||
             want_tracking_.load(std::memory_order_relaxed) || OverBudget().value != 0 ||
             (options_.traced && idle_fetches_.due()) || memory_.any_unmapped()) {
    wake_.WaitFor(memory_.mu, kLongSleep);
    // What happened on the device meanwhile tells nobody.
    look_again_ = look_again_ || works_in_submission_ != 0 || draining_ != 0;
  } else {
    wake_.Wait(memory_.mu);
  }
  sleeping_ = false;
}

std::optional<Bytes> Mover::FreeAndHeld() {
  ScopedContext current(*driver_, memory_.options().context);
  size_t free = 0, total = 0;
  Status status = current.status();
  if (status.ok()) {
    status =
        Check((*driver_)->MemGetInfo(&free, &total), "cuMemGetInfo", "for what a context takes");
  }
  if (!status.ok()) {
    driver_->RecordBackgroundError(status);
    return std::nullopt;
  }
  return Bytes(free) + memory_.device_pool().used() + memory_.device_pool().cached();
}

void Mover::LoadFingerprints() {
  ScopedContext current(*driver_, memory_.options().context);
  Status status = current.status();
  if (status.ok()) {
    StatusOr<std::unique_ptr<StreamFingerprints>> made = StreamFingerprints::Create(driver_);
    status = made.status();
    if (made.ok()) fingerprints_ = *std::move(made);
  }
  if (!status.ok()) {
    Log(LogLevel::kInfo, "no fingerprints in the program's streams (" +
                             std::string(status.message()) + "): more is copied");
  }
}

bool Mover::TryStartTracking() {
  if (tracking_.load(std::memory_order_relaxed)) return false;
  const bool arm = want_tracking_.load(std::memory_order_acquire);
  if (!arm && !want_ready_.load(std::memory_order_acquire)) return false;
  const bool ready = Prepare();
  ready_.store(ready, std::memory_order_release);
  want_ready_.store(false, std::memory_order_release);
  if (!ready) want_tracking_.store(false, std::memory_order_release);
  if (!ready || !arm) return ready;
  if (!gate_.Close(kGateDeadline)) return false;
  tracking_.store(true, std::memory_order_release);
  {
    MutexLock lock(memory_.mu);
    UpdateTracking();
  }
  if (options_.traced) MarkUnrecorded();
  std::vector<CUcontext> others = BeginOthers();
  gate_.Open();
  want_tracking_.store(false, std::memory_order_release);
  WaitForOthers(std::move(others));
  return true;
}

bool Mover::Prepare() {
  const MemoryOptions& memory = memory_.options();
  if (copy_ == nullptr) {
    bool own = options_.own_context;
    const std::optional<Bytes> before = FreeAndHeld();
    StatusOr<std::unique_ptr<CopyEngine>> engine =
        CopyEngine::Create(driver_, memory.context, memory.ordinal, own);
    if (!engine.ok() && own) {
      Log(LogLevel::kInfo, "no context of its own for the mover (" +
                               std::string(engine.status().message()) +
                               "): threads that launch will wait for moves");
      if (!absl::IsResourceExhausted(engine.status()))
        driver_->RecordBackgroundError(engine.status());
      own = false;
      engine = CopyEngine::Create(driver_, memory.context, memory.ordinal, own);
    }
    if (!engine.ok()) {
      MutexLock lock(memory_.mu);
      RecordError(engine.status());
      return false;
    }
    copy_ = *std::move(engine);
    const std::optional<Bytes> after = FreeAndHeld();
    if (before.has_value() && after.has_value() && *after < *before) {
      overhead_.store(*before - *after, std::memory_order_release);
    }
    synchronous_.store(!own, std::memory_order_relaxed);
  }
  return WatchContext();
}

bool Mover::WatchContext() {
  {
    MutexLock lock(memory_.mu);
    if (health_ != nullptr) return true;
  }
  // Pushed again: one that could not be popped may cover the thread's own.
  ScopedContext current(*driver_, memory_.options().context);
  Status status = current.status();
  CUstream made = nullptr;
  if (status.ok()) {
    status = Check((*driver_)->StreamCreate(&made, CU_STREAM_NON_BLOCKING), "cuStreamCreate",
                   "to watch the context");
  }
  MutexLock lock(memory_.mu);
  if (status.ok()) health_ = made;
  RecordError(status);
  return status.ok();
}

bool Mover::PollFinished() {
  bool any = false;
  const auto polled = Clock::now();
  const bool in_flight = plan_maker_.released() != 0;
  for (StreamState* state : streams_.busy()) {
    while (!state->in_flight.empty()) {
      StreamWork* work = state->in_flight.front();
      if (!work->ended) break;
      if (work->end.has_value() && !state->Reached(*work->end) && !dead_) break;
      state->in_flight.pop_front();
      plan_maker_.Ended(*work);
      patience_.Ended(work->id, work->released_at, InstantOf(polled));
      if (work->kernel != 0) {
        trials_.Finished(*work, InstantOf(state->last_finish), polled - last_poll_,
                         patience_.Disturbed(InstantOf(polled)), InstantOf(polled));
      }
      TakeFingerprints(*work);
      state->last_finish = polled;
      Finish(work);
      any = true;
    }
    if (state->drained_at.has_value() && (dead_ || state->Reached(*state->drained_at))) {
      state->drained_at.reset();
      --draining_;
      UpdateTracking();
      any = true;
    }
  }
  last_poll_ = polled;
  if (any) idle_fetches_.LookAgain();
  if (any) {
    streams_.DropIdle();
    streams_.Sweep();
  }
  patience_.Looked(in_flight, InstantOf(polled));
  return any;
}

bool Mover::PollArrivals() {
  bool any = false;
  const size_t n = std::min(queue_.size(), kArrivalScan);
  for (size_t i = 0; i < n; ++i) {
    StreamWork* work = Own(queue_[i]);
    if (!work->arrival.has_value() || !work->stream->Reached(*work->arrival)) continue;
    work->arrival.reset();
    work->needs_arrival = false;
    work->ForEachFixed([&](const ChunkUse& use)
                           VS_NO_THREAD_SAFETY_ANALYSIS { DeclareUsers(use.chunk); });
    if (work->stream->unrecorded) {
      streams_.SetUnrecorded(work->stream, false);
      UpdateTracking();
    }
    any = true;
  }
  return any;
}

void Mover::Finish(StreamWork* work) {
  if (work->kind != Work::Kind::kEvict) {
    work->ForEachFixed([&](const ChunkUse& use)
                           VS_NO_THREAD_SAFETY_ANALYSIS { DeclareUsers(use.chunk); });
  }
  counts_.Ended(*work);
  if (work->barrier()) memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  if (work->stream->unrecorded) {
    streams_.SetUnrecorded(work->stream, false);
    UpdateTracking();
  }
  --works_in_submission_;
  Recycle(work);
}

void Mover::DeclareUsers(ChunkIndex index) {
  // Packed objects share a chunk with others that may never be declared: those chunks stay.
  Chunk& c = residency_[index];
  if (c.allocation == 0 || c.movable) return;
  c.movable = true;
  residency_.NoteChange(index);
}

Conditions Mover::ConditionsNow() {
  return {.moving = moves_under_way_.load(std::memory_order_relaxed) != 0,
          .running = plan_maker_.released() != 0,
          .draining = options_.traced && draining_ != 0,
          .dead = dead_,
          .unmapped = memory_.chunks().unmapped(),
          .now = Now()};
}

bool Mover::ReleaseReady() {
  // Strictly in order. Work let go ahead of the head could be stuck behind it all the same (by a
  // shared hardware queue, an event, the legacy stream) while the head waits for its memory.
  size_t released = 0;
  bool wants_others = false;
  {
    const auto erase =
        absl::MakeCleanup([&]() VS_NO_THREAD_SAFETY_ANALYSIS { queue_.Pop(released); });
    const Conditions at = ConditionsNow();
    while (released < queue_.size() && readiness_.Ready(queue_[released], at, &wants_others)) {
      Release(Own(queue_[released++]));
    }
  }
  if (wants_others) {
    plan_maker_.Remake();
    look_again_ = true;
  }
  if (released != 0) done_.NotifyAll();
  MakeRoom(std::min<size_t>(released, waiting_for_room_));
  return released != 0;
}

void Mover::Release(StreamWork* work) {
  counts_.Unheld(*work);
  stats_.hold_ns += static_cast<uint64_t>((Now() - work->submitted_at).count());
  unmapped_.Released(*work);
  {
    // Whatever becomes of the accounts, its stream goes on.
    const auto go = absl::MakeCleanup([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
      if (work->stream == nullptr) return;
      work->stream->held.pop_front();
      Streams::Raise(work->stream, work->hold);
      if (work->stream->awaiting != 0) work->stream->let_go.NotifyAll();
      if (synchronous_.load(std::memory_order_relaxed)) done_.NotifyAll();
    });
    work->stream != nullptr ? plan_maker_.Released(work) : plan_maker_.Remake();
    MarkReleased(work);
  }
  if (work->stream != nullptr) return;
  // A pin: nothing runs, so it is over at once.
  counts_.Ended(*work);
  work->pinned = true;
  for (const ChunkUse& use : work->uses) {
    work->pinned = work->pinned && memory_.chunks()[use.chunk].on_device;
  }
  for (const ChunkUse& use : work->uses) {
    if (work->pinned) PinHere(use.chunk);
  }
  done_.NotifyAll();
}

Mover::Clock::duration Mover::MayTake() {
  uint64_t most = 0;
  for (const StreamState* state : streams_.busy()) {
    if (state->in_flight.empty() || state->in_flight.front()->kernel == 0) continue;
    most = std::max(most, trials_.history().MayTake(state->in_flight.front()->sample));
  }
  return std::chrono::nanoseconds(most);
}

void Mover::CheckDeadline() {
  if (queue_.empty()) return;
  if (dead_) {
    for (Work* work : queue_) work->run_in_place = look_again_ = true;
    plan_maker_.Remake();
    return;
  }
  const Instant now = Now();
  patience_.HeadIs(queue_.front()->id, now);
  if (!patience_.MayBeDue(now)) return;
  // A thread that is blocked inside the driver may hold up all others that enter it, and with them
  // what the head waits for; unless that is work which the device is known to have.
  const bool runs = absl::c_any_of(streams_.busy(), [](const StreamState* state) {
    return !state->in_flight.empty() && state->in_flight.front()->ended;
  });
  const Duration blocked_after = patience_.deadline() / Patience::kBlockedShare;
  Patience::Situation at;
  at.blocked = !runs && absl::c_any_of(queue_, [&](const Work* work) {
    return work->in_submission && now - work->submitted_at > blocked_after;
  });
  at.moving = !moves_.empty();
  at.known = MayTake();
  queue_.front()->ForEach([&](const ChunkUse& use) VS_NO_THREAD_SAFETY_ANALYSIS {
    at.wanted += memory_.chunks()[use.chunk].size();
  });
  at.queued = queue_.size();
  const Patience::Verdict verdict = patience_.Check(at, now);
  if (verdict.detach_copies && synchronous_.load(std::memory_order_relaxed)) DetachMoves();
  const size_t more = queue_.RunInPlace(verdict.in_place);
  if (more == 0) return;
  patience_.RunsInPlace(now);
  plan_maker_.Remake();
  residency_.NoteAll();  // Should a change have gone untold, the wait for it ends here.
  stats_.deadlines += more;
  look_again_ = true;
}

void Mover::WaitUntil(CondVar& told, absl::FunctionRef<bool()> condition) {
  auto looked = Clock::now();
  while (!condition()) {
    told.WaitFor(memory_.mu, kHealthPeriod);
    // The thread notifies often, so the clock counts and not whether it did. One looks for all.
    const auto now = Clock::now();
    const CUstream health = health_;
    if (health == nullptr || dead_) continue;
    if (now - std::max(looked, health_looked_) < kHealthPeriod) continue;
    looked = health_looked_ = now;
    memory_.mu.Unlock();
    Status alive;
    {
      // Relaxed: a query of this thread's must not ruin a capture of another's.
      ScopedContext current(*driver_, memory_.options().context);
      alive = current.status();
      if (alive.ok()) {
        alive = Check((*driver_)->StreamQuery(health), "cuStreamQuery", "of the program's context");
      }
    }
    memory_.mu.Lock();
    if (alive.ok() || ToCuResult(alive) == CUDA_ERROR_NOT_READY) continue;
    // What kills a context stays: an error that comes and goes says nothing of the work in it.
    RecordError(alive);
    if (!IsFatal(ToCuResult(alive))) continue;
    dead_ = true;
    WakeThread();
  }
}

bool Mover::Idle() {
  return queue_.empty() && works_in_submission_ == 0 && draining_ == 0 && !look_again_ &&
         moves_under_way_.load(std::memory_order_relaxed) == 0 && !memory_.has_dying();
}

void Mover::RecordError(const Status& status) {
  if (error_.ok() && !status.ok()) {
    error_ = status;
    Log(LogLevel::kError, std::string(status.message()));
  }
}

}  // namespace vramspan
