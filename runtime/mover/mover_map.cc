// Maps unmapped host chunks again (scheduler/unmapped_chunks.h says which), and makes whoever hands
// an address to the driver wait for that.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/memory/remap.h"
#include "runtime/mover/mover_move.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

// In one round, so that what waits for something else does not wait for this.
constexpr std::chrono::milliseconds kMapTime{2};
constexpr std::chrono::seconds kStopPatience{5};
// One takes some tens of microseconds, but more than a second while another process gives tens of
// gigabytes of host memory back. This long only if the driver never returns.
constexpr std::chrono::seconds kDriverPatience{300};

}  // namespace

bool Mover::LeaveUnmapped(const Move& move) {
  return !move.explicit_request && address_queries_ == 0 &&
         !synchronous_.load(std::memory_order_relaxed) &&
         unmapped_.MayStayUnmapped(move.chunk, Now());
}

bool Mover::MapChunksOnHost() {
  const auto now = Clock::now();
  if (!memory_.any_unmapped() || now < no_moves_before_) return false;
  bool any = false;
  for (;;) {
    ChunkIndex index;
    {
      MutexLock lock(memory_.mu);
      if (trials_.TimedRuns(Now())) break;
      const bool idle = queue_.empty() && works_in_submission_ == 0;
      index = unmapped_.BeginMapping(InstantOf(idle ? last_progress_ : now), InstantOf(now));
      if (!index) break;
      moves_under_way_.fetch_add(1, std::memory_order_relaxed);
    }
    any |= MapOnHost(index);
    if (Clock::now() - now > kMapTime) break;
    // Somebody may wait for what has come meanwhile.
    copy_->Poll();
    if (absl::c_any_of(moves_, [](const auto& move) {
          return move->in && move->copy.done.load(std::memory_order_acquire);
        })) {
      break;
    }
  }
  return any;
}

bool Mover::MapOnHost(ChunkIndex index) {
  DevicePtr va;
  Bytes size;
  uint32_t slot;
  {
    MutexLock lock(memory_.mu);
    const Chunk& c = memory_.chunks()[index];
    va = c.base;
    size = c.size();
    slot = c.host_slot;
  }
  const auto begin = Clock::now();
  SharedLock mapping(memory_.mapping_mu);
  const Status status =
      MapAt(*driver_, memory_.accessors(), va, size, memory_.host_pool().handle(slot));
  MutexLock lock(memory_.mu);
  stats_.vmm_ns += static_cast<uint64_t>((Clock::now() - begin).count());
  ++stats_.remaps;
  unmapped_.Mapped(index, status.ok());
  moves_under_way_.fetch_sub(1, std::memory_order_relaxed);
  if (!status.ok()) {
    ++stats_.moves_failed;
    RecordError(status);
    no_moves_before_ = Clock::now() + kAfterFailure;
  }
  done_.NotifyAll();
  return status.ok();
}

Status Mover::WaitReachable(const StreamWork& work) {
  const auto named = [&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    const bool unmapped = memory_.any_unmapped();
    if (!unmapped && unreachable_.empty()) return false;
    if (synchronous_.load(std::memory_order_relaxed)) return false;
    if (work.access == Access::kUnknown) {
      unmapped_.MapAll(unmapped);
      return true;
    }
    bool any = false;
    for (const auto& [chunk, how] : work.all) {
      if (how.kernels_only) continue;
      any = any || absl::c_linear_search(unreachable_, chunk);
      if (!memory_.chunks()[chunk].unmapped) continue;
      unmapped_.Map(chunk);
      any = true;
    }
    return any;
  };
  if (WaitMapped(named)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("memory of this work has lost its mapping and could not be mapped again",
                   error_.ok() ? "" : ": ", error_.message(),
                   "; synchronize, free what can be freed, and try again"));
}

bool Mover::WaitMapped(absl::FunctionRef<bool()> unmapped) {
  const auto begin = Clock::now();
  const uint64_t failed = stats_.moves_failed;
  while (unmapped()) {
    if (dead_) return false;
    const bool refused = lost_ != 0 || stats_.moves_failed != failed;
    if (Clock::now() - begin > (refused ? kRemapPatience : kDriverPatience)) return false;
    WakeThread();
    done_.WaitFor(memory_.mu, std::chrono::milliseconds(5));
  }
  return true;
}

bool Mover::BeginAddressQuery() {
  if (!tracking_.load(std::memory_order_acquire)) return false;
  MutexLock lock(memory_.mu);
  ++address_queries_;
  if (memory_.any_unmapped()) unmapped_.KeepMapped(Now());
  WaitMapped([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    const bool any = memory_.any_unmapped();
    unmapped_.MapAll(any);
    return (any || !unreachable_.empty()) && !dead_;
  });
  return true;
}

void Mover::EndAddressQuery() {
  MutexLock lock(memory_.mu);
  // Of another runtime, perhaps, whose place this one has taken since.
  if (address_queries_ > 0 && --address_queries_ == 0) WakeThread();
}

bool Mover::BeginForeignWork() {
  if (!tracking_.load(std::memory_order_acquire)) return false;
  MutexLock lock(memory_.mu);
  memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
  counts_.ForeignWorkBegan();
  unmapped_.KeepMapped(Now());
  WaitUntil([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    const bool any = memory_.any_unmapped();
    unmapped_.MapAll(any);
    if (any) WakeThread();
    return dead_ || (!any && moves_under_way_.load(std::memory_order_relaxed) == 0);
  });
  return true;
}

void Mover::EndForeignWork() {
  MutexLock lock(memory_.mu);
  DoubtTwins(/*but_read_mostly=*/false);
  // Of another runtime, perhaps, whose place this one has taken since.
  if (!counts_.ForeignWorkEnded()) return;
  memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  WakeThread();
}

std::vector<CUcontext> Mover::BeginOthers() {
  std::vector<CUcontext> others;
  if (options_.others != nullptr) others = options_.others(memory_.options().context);
  if (others.empty()) return others;
  MutexLock lock(memory_.mu);
  memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
  counts_.ForeignWorkBegan();
  return others;
}

void Mover::WaitForOthers(std::vector<CUcontext> others) {
  if (others.empty()) return;
  // A thread of its own: what they wait for may be what the mover's has yet to let go.
  const auto wait = [this, others = std::move(others)] {
    const OwnCalls own;
    for (const CUcontext context : others) {
      // One that is gone has no work.
      CUdeviceptr left = 0;
      const Status status = DrainContext(*driver_, context, &left);
      if (!status.ok()) {
        Log(LogLevel::kInfo,
            "work of another context is not waited for: " + std::string(status.message()));
      }
    }
    EndForeignWork();
  };
  const auto stop = [this] {
    MutexLock lock(memory_.mu);
    StopTracking();
  };
  StatusOr<Thread> thread = StartThread("vramspan-others", wait, stop);
  if (thread.ok()) {
    others_ = *std::move(thread);
    return;
  }
  stop();
  Log(LogLevel::kError, std::string(thread.status().message()) +
                            ": what other devices do with memory of this one is not waited for, so "
                            "none of it moves");
}

bool Mover::StopMoving() {
  MutexLock lock(memory_.mu);
  // Under the lock: whoever starts a move looks under it whether the users are known.
  StopTracking();
  unmapped_.KeepMappedUntil(Instant::max());
  const auto moving = [&] {
    return memory_.any_unmapped() || moves_under_way_.load(std::memory_order_relaxed) != 0;
  };
  const auto until = Clock::now() + kStopPatience;
  while (moving() && !dead_ && Clock::now() < until) {
    unmapped_.MapAll();
    WakeThread();
    done_.WaitFor(memory_.mu, std::chrono::milliseconds(5));
  }
  return !moving();
}

}  // namespace vramspan
