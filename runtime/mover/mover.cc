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
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// How long a closing gate waits for threads that are inside it; see Gate.
constexpr std::chrono::milliseconds kGateDeadline{20};
// Polling without a pause for this long after the last progress, then with short sleeps.
constexpr std::chrono::microseconds kSpin{200};
constexpr std::chrono::microseconds kShortSleep{20};
constexpr std::chrono::milliseconds kLongSleep{1};
constexpr size_t kArrivalScan = 256;
// In one round, so that other things are looked at.
constexpr std::chrono::nanoseconds kRoundTime{kRemapTimeNs};
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
      scheduler_(&memory->chunks(), &memory->policy(),
                 {.deadline = options.deadline,
                  .traced = options.traced,
                  .idle_fetches = options.idle_fetches,
                  .device_memory = memory->device_pool().budget(),
                  .prices = options.prices},
                 this),
      works_(memory),
      maker_(memory, &scheduler_, &accounts_, options.listener),
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
  maker_.Stop();
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
    accounts_.Record((*current)->status());
  }
  const bool progress = Round();
  AccountStall();
  const auto now = Clock::now();
  if (progress) last_progress_ = now;
  {
    MutexLock lock(memory_.mu);
    if (stop_ && !progress) return true;
  }
  if (!progress) Pause();
  return false;
}

void Mover::Rest(const char* why) {
  {
    MutexLock lock(memory_.mu);
    StopTracking();
    scheduler_.unmapped().KeepMappedUntil(Instant::max());
    scheduler_.unmapped().MapAll(memory_.any_unmapped());
    scheduler_.work().AllInPlace();
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
  const bool moving = scheduler_.moves().size() != 0;
  const uint64_t in_calls = accounts_.stats.vmm_ns;
  // The queue was not empty at the last look. It may be by now: what ends a stall counts as well.
  if (stall_since_ != Clock::time_point()) {
    stalls_.Add(now - stall_since_, Duration(in_calls - stall_vmm_), stall_moves_ || moving);
  }
  stall_since_ = scheduler_.queue().empty() ? Clock::time_point() : now;
  stall_moves_ = moving;
  stall_vmm_ = in_calls;
}

bool Mover::Round() {
  {
    MutexLock lock(memory_.mu);
    look_again_ = false;
  }
  bool progress = TryStartTracking();
  if (!tracking_.load(std::memory_order_relaxed)) {
    // Nothing is recorded yet, but streams may have been forgotten.
    MutexLock lock(memory_.mu);
    return PollFinished() || progress;
  }
  for (const auto until = Clock::now() + kRoundTime; Act();) {
    progress = true;
    if (Clock::now() > until) break;
  }
  if (memory_.has_dying() && memory_.Reclaim()) {
    progress = true;
    MutexLock lock(memory_.mu);
    scheduler_.LookAgain();
  }
  return progress;
}

bool Mover::Act() {
  maker_.Poll();
  if (maker_.any_detached()) maker_.ReapDetached();
  Action action;
  bool any = false;
  {
    MutexLock lock(memory_.mu);
    any |= PollFinished();
    any |= PollArrivals();
    action = Decide(&any);
  }
  maker_.Perform(action);
  // Somebody may wait for the end of a move, not for its beginning.
  const bool begins = action.kind == Action::Kind::kEvict || action.kind == Action::Kind::kFetch;
  if (action.kind != Action::Kind::kNothing && !begins) done_.NotifyAll();
  return any || action.kind != Action::Kind::kNothing;
}

Action Mover::Decide(bool* any) {
  maker_.Locked();
  *any |= maker_.TakeCopied();
  maker_.MakePlace();
  size_t released = 0;
  Action action = scheduler_.Next(At());
  for (; action.kind == Action::Kind::kRelease; action = scheduler_.Next(At())) {
    Release(Own(action.work));
    ++released;
  }
  const bool begins = action.kind == Action::Kind::kEvict || action.kind == Action::Kind::kFetch;
  if (begins) maker_.Begin(action.move);
  if (released != 0) {
    *any = true;
    done_.NotifyAll();
    MakeRoom(std::min<size_t>(released, waiting_for_room_));
  }
  return action;
}

Moment Mover::At() {
  const DevicePool& pool = memory_.device_pool();
  return {.now = Now(),
          .budget = pool.budget(),
          .used = pool.used(),
          .available = pool.available(),
          .draining = options_.traced && draining_ != 0,
          .follows_writers = fingerprints_ != nullptr && memory_.host_used()};
}

void Mover::ForEachRunning(absl::FunctionRef<void(const Work&)> visit)
    VS_NO_THREAD_SAFETY_ANALYSIS {
  for (const StreamState* state : streams_.busy()) {
    if (!state->in_flight.empty()) visit(*state->in_flight.front());
  }
}

void Mover::Pause() {
  const auto idle = Clock::now() - last_progress_;
  MutexLock lock(memory_.mu);
  if (look_again_ || stop_) return;
  done_.NotifyAll();
  const bool active = !scheduler_.queue().empty() || scheduler_.moving() || maker_.any_detached();
  if ((active && idle < kSpin) || scheduler_.trials().TimedRuns(Now())) {
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
             scheduler_.planning().returns_due() || memory_.any_unmapped()) {
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
  if (!maker_.ready()) {
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
      accounts_.Record(engine.status());
      return false;
    }
    maker_.Use(*std::move(engine));
    const std::optional<Bytes> after = FreeAndHeld();
    if (before.has_value() && after.has_value() && *after < *before) {
      overhead_.store(*before - *after, std::memory_order_release);
    }
    synchronous_.store(!own, std::memory_order_relaxed);
    MutexLock lock(memory_.mu);
    if (!own) scheduler_.ShareContext();
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
  accounts_.Record(status);
  return status.ok();
}

bool Mover::PollFinished() {
  bool any = false;
  const auto polled = Clock::now();
  for (StreamState* state : streams_.busy()) {
    while (!state->in_flight.empty()) {
      StreamWork* work = state->in_flight.front();
      if (!work->submitted) break;
      if (work->end.has_value() && !state->Reached(*work->end) && !dead_) break;
      state->in_flight.pop_front();
      TakeFingerprints(*work);
      scheduler_.work().Finished(work, InstantOf(state->last_finish), /*at_once=*/false,
                                 InstantOf(polled));
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
  if (any) {
    streams_.DropIdle();
    streams_.Sweep();
  }
  scheduler_.work().Looked(InstantOf(polled));
  return any;
}

bool Mover::PollArrivals() {
  bool any = false;
  const WorkQueue& queue = scheduler_.queue();
  const size_t n = std::min(queue.size(), kArrivalScan);
  for (size_t i = 0; i < n; ++i) {
    StreamWork* work = Own(queue[i]);
    if (!work->arrival.has_value() || !work->stream->Reached(*work->arrival)) continue;
    work->arrival.reset();
    scheduler_.work().Arrived(work);
    if (work->stream->unrecorded) {
      streams_.SetUnrecorded(work->stream, false);
      UpdateTracking();
    }
    any = true;
  }
  return any;
}

void Mover::Finish(StreamWork* work) {
  if (work->barrier()) memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  if (work->stream->unrecorded) {
    streams_.SetUnrecorded(work->stream, false);
    UpdateTracking();
  }
  --works_in_submission_;
  works_.Recycle(work);
}

void Mover::Release(StreamWork* work) {
  {
    // Whatever becomes of the accounts, its stream goes on.
    const auto go = absl::MakeCleanup([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
      if (work->stream == nullptr) return;
      work->stream->held.pop_front();
      Streams::Raise(work->stream, work->hold);
      if (work->stream->awaiting != 0) work->stream->let_go.NotifyAll();
      if (synchronous_.load(std::memory_order_relaxed)) done_.NotifyAll();
    });
    AskFingerprints(*work);
    scheduler_.work().Released(work, At());
    GoesOn(work);
  }
  if (work->kind != Work::Kind::kPin) return;
  work->pinned = true;
  for (const ChunkUse& use : work->uses) {
    work->pinned = work->pinned && memory_.chunks()[use.chunk].on_device;
  }
  for (const ChunkUse& use : work->uses) {
    if (work->pinned) PinHere(use.chunk);
  }
  done_.NotifyAll();
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
    accounts_.Record(alive);
    if (!IsFatal(ToCuResult(alive))) continue;
    dead_ = true;
    scheduler_.work().ContextDied();
    WakeThread();
  }
}

bool Mover::Idle() {
  return scheduler_.queue().empty() && works_in_submission_ == 0 && draining_ == 0 &&
         !look_again_ && !scheduler_.moving() && !memory_.has_dying();
}

Bytes Mover::OverBudget() {
  const Bytes used = memory_.device_pool().used();
  const Bytes budget = memory_.device_pool().budget();
  return used > budget ? used - budget : Bytes(0);
}

}  // namespace vramspan
