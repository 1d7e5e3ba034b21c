#include "runtime/mover/recording.h"

#include <string>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/mover/now.h"
#include "runtime/mover/work_scopes.h"
#include "runtime/scheduler/recording_rule.h"

namespace vramspan {
namespace {

using Clock = std::chrono::steady_clock;

// How long a closing gate waits for threads that are inside it; see Gate.
constexpr std::chrono::milliseconds kGateDeadline{20};
// Nothing is urgent about an end.
constexpr std::chrono::milliseconds kEndDeadline{2};
// Beginning takes a tenth of a second, most of it for a context, unless some thread stays inside
// the driver: then work that follows goes unseen for a while.
constexpr std::chrono::seconds kBeginPatience{1};
constexpr std::chrono::seconds kRequiredPatience{10};

}  // namespace

void Recording::Ask() {
  if (begun()) return;
  if (MustRecord(options_.traced, memory_.supply().short_of_device(), memory_.supply().filling())) {
    wanted_.store(true, std::memory_order_release);
  } else if (memory_.supply().filling() && !ready_.load(std::memory_order_acquire)) {
    ready_wanted_.store(true, std::memory_order_release);
  }
}

void Recording::AskAndWait() {
  if (begun() || WorkScopes::InScope()) return;
  const auto until = Clock::now() + kBeginPatience;
  MutexLock lock(memory_.mu);
  // For what is only made ready as well: what a context takes is not to be seen as the program's.
  while (
      !begun() &&
      (wanted_.load(std::memory_order_acquire) || ready_wanted_.load(std::memory_order_acquire)) &&
      Clock::now() < until) {
    parts_.signals->done().WaitFor(memory_.mu, std::chrono::milliseconds(5));
  }
}

Status Recording::Require() {
  MutexLock lock(memory_.mu);
  required_ = true;
  if (begun()) return absl::OkStatus();
  wanted_.store(true, std::memory_order_release);
  parts_.signals->Wake();
  const auto until = Clock::now() + kRequiredPatience;
  while (!begun()) {
    if (!wanted_.load(std::memory_order_acquire)) {
      const Status& error = parts_.accounts->error;
      return error.ok() ? absl::InternalError("the mover could not start") : error;
    }
    if (Clock::now() > until) {
      return absl::DeadlineExceededError(
          "a thread has been submitting work for 10 s without returning from the driver, so moves "
          "cannot start; try again when it has returned");
    }
    parts_.signals->done().WaitFor(memory_.mu, std::chrono::milliseconds(10));
  }
  return absl::OkStatus();
}

bool Recording::TryBegin() {
  if (begun_.load(std::memory_order_relaxed)) return false;
  const bool begin = wanted_.load(std::memory_order_acquire);
  if (!begin && !ready_wanted_.load(std::memory_order_acquire)) return false;
  const bool ready = Prepare();
  ready_.store(ready, std::memory_order_release);
  ready_wanted_.store(false, std::memory_order_release);
  if (!ready) wanted_.store(false, std::memory_order_release);
  if (!ready || !begin) return ready;
  if (!parts_.gate->Close(kGateDeadline)) return false;
  times_.fetch_add(1, std::memory_order_release);
  begun_.store(true, std::memory_order_release);
  {
    MutexLock lock(memory_.mu);
    end_.Began(Now());
    parts_.streams->RecordingBegan();
  }
  if (options_.traced) parts_.streams->MarkUnrecorded();
  std::vector<CUcontext> others = BeginOthers();
  parts_.gate->Open();
  wanted_.store(false, std::memory_order_release);
  WaitForOthers(std::move(others));
  return true;
}

bool Recording::MayEnd() {
  // Declared work is not seen unless it is recorded, and names its memory before it is needed.
  if (!begun() || !options_.traced || !options_.rest_after.has_value() || required_) return false;
  const Scheduler& scheduler = *parts_.scheduler;
  const Moves::Counts& moves = scheduler.moves().counts();
  const MoverStatistics& counts = parts_.accounts->stats;
  const uint64_t acts = moves.fetches + moves.evictions + counts.works_held + counts.moves_failed;
  const DevicePool& pool = memory_.device_pool();
  const bool quiet = scheduler.queue().empty() && !scheduler.moving() && !memory_.any_unmapped() &&
                     pool.used() <= pool.budget();
  if (!end_.May(quiet, acts, Now())) return false;
  if (memory_.supply().AllOnDevice()) return true;
  end_.NotYet(Now());
  return false;
}

void Recording::TryEnd() {
  bool ends = false;
  if (parts_.gate->Close(kEndDeadline)) {
    ends = End();
    parts_.gate->Open();
  }
  MutexLock lock(memory_.mu);
  ends ? end_.Ended(Now()) : end_.NotYet(Now());
}

bool Recording::End() {
  MutexLock lock(memory_.mu);
  // Who was let in goes on as recorded.
  if (parts_.gate->outside() != 0) return false;
  const bool known = memory_.tracking() == Tracking::kAll && !parts_.watch->dead();
  // What was recorded and still runs ends as recorded.
  const bool busy = waits_for_others_.load(std::memory_order_acquire) || memory_.has_dying() ||
                    parts_.maker->any_detached();
  if (!known || busy || !MayEnd()) return false;
  memory_.supply().SetOnDevice();
  // What is written from here on nobody sees.
  parts_.scheduler->work().AnyMayBeWritten(/*but_read_mostly=*/false);
  parts_.streams->RecordingEnded();
  begun_.store(false, std::memory_order_release);
  ++parts_.accounts->stats.rests;
  return true;
}

std::optional<Bytes> Recording::FreeAndHeld() {
  ScopedContext current(memory_.driver(), memory_.options().context);
  size_t free = 0, total = 0;
  Status status = current.status();
  if (status.ok()) {
    status = Check(memory_.driver()->MemGetInfo(&free, &total), "cuMemGetInfo",
                   "for what a context takes");
  }
  if (!status.ok()) {
    memory_.driver().RecordBackgroundError(status);
    return std::nullopt;
  }
  return Bytes(free) + memory_.device_pool().used() + memory_.device_pool().cached();
}

StatusOr<std::unique_ptr<CopyEngine>> Recording::MakeEngine(bool* own) {
  const MemoryOptions& memory = memory_.options();
  StatusOr<std::unique_ptr<CopyEngine>> engine =
      CopyEngine::Create(memory_.shared_driver(), memory.context, memory.ordinal, *own);
  if (engine.ok() || !*own) return engine;
  Log(LogLevel::kInfo, "the mover has no context of its own (" +
                           std::string(engine.status().message()) +
                           "), so threads that launch wait for moves");
  if (!absl::IsResourceExhausted(engine.status())) {
    memory_.driver().RecordBackgroundError(engine.status());
  }
  *own = false;
  return CopyEngine::Create(memory_.shared_driver(), memory.context, memory.ordinal, *own);
}

bool Recording::Prepare() {
  if (parts_.maker->ready()) return parts_.watch->Start();
  bool own = options_.own_context;
  ContextRoom* const room = own ? options_.room : nullptr;
  const Bytes given = room != nullptr ? room->Before() : Bytes(0);
  // Others may have freed memory so that there is room: that is no part of what a context takes.
  const std::optional<Bytes> before = FreeAndHeld();
  StatusOr<std::unique_ptr<CopyEngine>> engine = MakeEngine(&own);
  if (!engine.ok()) {
    if (room != nullptr) room->After(Bytes(0));
    MutexLock lock(memory_.mu);
    parts_.accounts->Record(engine.status());
    return false;
  }
  parts_.maker->Use(*std::move(engine));
  const std::optional<Bytes> took = TakenByContext(before, FreeAndHeld());
  if (own) overhead_.store(took.value_or(given), std::memory_order_release);
  // Without a context of its own nothing was taken for one.
  if (room != nullptr) room->After(own ? took : Bytes(0));
  if (!own) {
    MutexLock lock(memory_.mu);
    parts_.work->WaitInThreads();
    parts_.scheduler->ShareContext();
  }
  return parts_.watch->Start();
}

std::vector<CUcontext> Recording::BeginOthers() {
  std::vector<CUcontext> others;
  if (options_.others != nullptr) others = options_.others(memory_.options().context);
  if (others.empty()) return others;
  parts_.foreign->Begin();
  return others;
}

void Recording::WaitForOthers(std::vector<CUcontext> others) {
  if (others.empty()) return;
  waits_for_others_.store(true, std::memory_order_release);
  // A thread of its own: what they wait for may be what the mover's has yet to let go.
  const auto wait = [this, others = std::move(others)] {
    const OwnCalls own;
    for (const CUcontext context : others) {
      // One that is gone has no work.
      CUdeviceptr left = 0;
      const Status status = DrainContext(memory_.driver(), context, &left);
      if (!status.ok()) {
        Log(LogLevel::kInfo,
            "work of another context is not waited for: " + std::string(status.message()));
      }
    }
    parts_.foreign->End();
    waits_for_others_.store(false, std::memory_order_release);
  };
  const auto stop = [this] {
    MutexLock lock(memory_.mu);
    parts_.streams->StopTracking();
  };
  StatusOr<Thread> thread = StartThread("vramspan-others", wait, stop);
  if (thread.ok()) {
    others_ = *std::move(thread);
    return;
  }
  stop();
  Log(LogLevel::kError,
      std::string(thread.status().message()) +
          ": work of other devices cannot be waited for, so no memory of this device moves");
}

}  // namespace vramspan
