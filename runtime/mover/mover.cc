#include "runtime/mover/mover.h"

#include <thread>
#include <utility>

#include "runtime/base/uncancellable.h"

namespace vramspan {
namespace {

constexpr std::chrono::seconds kStopPatience{5};
constexpr std::chrono::milliseconds kStopLook{5};
}  // namespace

Mover::Mover(Memory* memory, const MoverOptions& options)
    : memory_(*memory),
      traced_(options.traced),
      scheduler_(&memory->chunks(), options.policy != nullptr ? options.policy : &memory->policy(),
                 {.deadline = options.deadline,
                  .traced = options.traced,
                  .idle_fetches = options.idle_fetches,
                  .device_memory = memory->ExpectedBudget(),
                  .prices = options.prices,
                  .sink = options.sink},
                 this),
      watch_(memory, &scheduler_, &accounts_, &signals_),
      streams_(memory, &scheduler_, &accounts_, &signals_, &gate_),
      prints_(memory, &scheduler_),
      work_(memory, &scheduler_, &accounts_, &signals_, &watch_, &streams_, &prints_,
            {.traced = options.traced, .listener = options.listener}),
      maker_(memory, &scheduler_, &accounts_, options.listener),
      foreign_(memory, &scheduler_, &signals_, &watch_, &work_),
      recording_(memory,
                 {.scheduler = &scheduler_,
                  .accounts = &accounts_,
                  .signals = &signals_,
                  .gate = &gate_,
                  .watch = &watch_,
                  .streams = &streams_,
                  .work = &work_,
                  .maker = &maker_,
                  .foreign = &foreign_},
                 {.own_context = options.own_context,
                  .traced = options.traced,
                  .others = options.others,
                  .room = options.room,
                  .rest_after = options.rest_after}),
      scopes_(memory, {.scheduler = &scheduler_,
                       .signals = &signals_,
                       .gate = &gate_,
                       .watch = &watch_,
                       .streams = &streams_,
                       .work = &work_,
                       .prints = &prints_,
                       .recording = &recording_}),
      placements_(memory, {.scheduler = &scheduler_,
                           .signals = &signals_,
                           .watch = &watch_,
                           .work = &work_,
                           .scopes = &scopes_,
                           .recording = &recording_,
                           .gate = &gate_}),
      unmapping_(memory, {.scheduler = &scheduler_,
                          .signals = &signals_,
                          .gate = &gate_,
                          .streams = &streams_,
                          .prints = &prints_,
                          .listener = options.listener,
                          .traced = options.traced}),
      sharing_(memory, &accounts_, &placements_, &unmapping_),
      thread_(memory, {.scheduler = &scheduler_,
                       .accounts = &accounts_,
                       .signals = &signals_,
                       .streams = &streams_,
                       .work = &work_,
                       .maker = &maker_,
                       .recording = &recording_,
                       .showing = options.showing}) {
  if (options.traced && options.own_context && options.fingerprints) prints_.Load();
}

StatusOr<std::unique_ptr<Mover>> Mover::Start(Memory* memory, const MoverOptions& options) {
  std::unique_ptr<Mover> mover(new Mover(memory, options));
  VS_RETURN_IF_ERROR(mover->thread_.Start());
  return mover;
}

Mover::~Mover() {
  streams_.Detach();
  if (thread_.started()) {
    {
      MutexLock lock(memory_.mu);
      accounts_.error = absl::OkStatus();  // Of the time before, which nobody asked for.
      signals_.Wake();
      watch_.WaitUntil([this]() VS_NO_THREAD_SAFETY_ANALYSIS { return Idle(); });
    }
    thread_.Stop();
    MutexLock lock(memory_.mu);
    // Memory that is short is no failure any more: all of it is about to be given back.
    if (ToCuResult(accounts_.error) != CUDA_ERROR_OUT_OF_MEMORY)
      memory_.driver().NoteError(accounts_.error);
  }
  recording_.Join();
  // Here, where the context is current: the program's thread may have let go of it.
  ScopedContext current(memory_.driver(), memory_.options().context);
  memory_.driver().RecordBackgroundError(current.status());
  maker_.Stop();
  prints_.Stop();
  streams_.FreePages();
  watch_.Stop();
}

void Mover::ForEachRunning(absl::FunctionRef<void(const Work&)> visit) {
  for (const StreamState* state : streams_.busy()) {
    if (!state->in_flight.empty()) visit(*state->in_flight.front());
  }
}

bool Mover::Idle() {
  return scheduler_.queue().empty() && work_.begun() == 0 && !streams_.draining() &&
         !signals_.pending() && !scheduler_.moving() && !memory_.has_dying();
}

bool Mover::OfKernels(absl::FunctionRef<void(Scheduler&)> call,
                      std::optional<std::chrono::milliseconds> patience)
    VS_NO_THREAD_SAFETY_ANALYSIS {
  constexpr std::chrono::milliseconds kLook(1);
  if (!patience.has_value()) memory_.mu.Lock();
  for (; patience.has_value() && !memory_.mu.TryLock(); *patience -= kLook) {
    if (*patience <= kLook) return false;
    std::this_thread::sleep_for(kLook);
  }
  call(scheduler_);
  memory_.mu.Unlock();
  return true;
}

StatusOr<DetachedMemory> Mover::Replace(absl::Span<const DevicePtr> mappings, Bytes size,
                                        CUmemGenericAllocationHandle by,
                                        absl::FunctionRef<Status(const DetachedMemory&)> copy,
                                        absl::FunctionRef<Status(DevicePtr)> open) {
  VS_RETURN_IF_ERROR(placements_.Require());
  return unmapping_.Replace(mappings, size, by, copy, open);
}

bool Mover::BeginAddressQuery() {
  if (!tracking()) return false;
  foreign_.BeginQuery();
  return true;
}

bool Mover::BeginForeignWork() {
  if (!tracking()) return false;
  foreign_.BeginAndWait();
  return true;
}

bool Mover::StopMoving() {
  MutexLock lock(memory_.mu);
  // Under the lock: whoever starts a move looks under it whether the users are known.
  streams_.StopTracking();
  scheduler_.unmapped().KeepMappedUntil(Instant::max());
  const auto moving = [&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    return memory_.any_unmapped() || scheduler_.moving();
  };
  const auto until = std::chrono::steady_clock::now() + kStopPatience;
  while (moving() && !watch_.dead() && std::chrono::steady_clock::now() < until) {
    scheduler_.unmapped().MapAll();
    signals_.Wake();
    signals_.done().WaitFor(memory_.mu, kStopLook);
  }
  return !moving();
}

void Mover::Wake() {
  MutexLock lock(memory_.mu);
  // Under the lock: recording may be about to end.
  recording_.Ask();
  scheduler_.LookAgain();
  signals_.Wake();
}

void Mover::WakeAndStartTracking() {
  Wake();
  recording_.AskAndWait();
}

void Mover::HoldWork(std::optional<std::chrono::steady_clock::time_point> until) {
  MutexLock lock(memory_.mu);
  work_.HoldNew(until);
}

WorkState Mover::work_state() {
  MutexLock lock(memory_.mu);
  const uint64_t passed = gate_.passed();
  const bool passes = std::exchange(passed_, passed) != passed ||
                      threads_waiting_.load(std::memory_order_relaxed) != 0;
  return {.works = passed,
          .runs = work_.begun() != 0 || (!tracking() && passes),
          .waits = work_.awaits_turn()};
}

Status Mover::Synchronize() {
  if (scopes_.InOwnScope()) {
    return absl::FailedPreconditionError(
        "cannot wait for all work from inside a work scope: it would wait for itself");
  }
  bool recorded = false;
  uint32_t recording = 0;
  {
    MutexLock lock(memory_.mu);
    recorded = tracking();
    recording = streams_.recording();
    if (recorded) {
      signals_.Wake();
      watch_.WaitUntil([this]() VS_NO_THREAD_SAFETY_ANALYSIS {
        if (!Idle()) return false;
        if (!memory_.any_unmapped() || watch_.dead()) return true;
        scheduler_.unmapped().MapAll();
        signals_.Wake();
        return false;
      });
    }
  }
  if (memory_.tracking() != Tracking::kAll) {
    // Work that was declared before tracking: nothing but this tells that it is done.
    VS_RETURN_IF_ERROR(memory_.drains().Drain());
    if (recorded) streams_.AllSettled(recording);
  }
  if (!traced_) {
    // What comes now and is not declared may write anywhere, but for what is said to be read only.
    MutexLock lock(memory_.mu);
    scheduler_.work().AnyMayBeWritten(/*but_read_mostly=*/true);
  }
  // Recording may have failed to start before.
  if (!recorded && memory_.supply().filling()) WakeAndStartTracking();
  VS_RETURN_IF_ERROR(memory_.freed().DrainAndReclaim());
  return TakeError();
}

Status Mover::TakeError() {
  MutexLock lock(memory_.mu);
  Status& error = accounts_.error;
  if (error.ok()) return memory_.driver().TakeNoted();
  // A dead context stays dead, and everybody who asks is told.
  if (watch_.dead()) return error;
  return std::exchange(error, absl::OkStatus());
}

MoverStatistics Mover::statistics() {
  const auto nanoseconds = [](Duration d) { return static_cast<uint64_t>(d.count()); };
  MutexLock lock(memory_.mu);
  MoverStatistics s = accounts_.stats;
  const WorkFlow::Statistics& work = scheduler_.work().statistics();
  s.works_in_place = work.in_place;
  s.deadlines = work.deadlines;
  s.hold_ns = nanoseconds(work.held);
  const Moves::Counts& moves = scheduler_.moves().counts();
  s.fetches = moves.fetches;
  s.evictions = moves.evictions;
  s.fetches_unused = moves.fetches_unused;
  s.bytes_in = moves.in;
  s.bytes_out = moves.out;
  s.bytes_out_clean = moves.out_clean;
  s.returned = scheduler_.planning().returned();
  s.stall_vmm_ns = nanoseconds(thread_.stalls().calls);
  s.stall_copy_ns = nanoseconds(thread_.stalls().copies);
  s.stall_drain_ns = nanoseconds(thread_.stalls().drain);
  s.trials = scheduler_.trials().made();
  s.forecast_hits = scheduler_.sequence().hits();
  s.forecast_misses = scheduler_.sequence().misses();
  return s;
}

}  // namespace vramspan
