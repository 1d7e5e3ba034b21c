// Maps unmapped host chunks again (scheduler/unmapped_chunks.h says which), and makes whoever hands
// an address to the driver wait for that.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <string>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/memory/remap.h"
#include "runtime/mover/mover.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

constexpr std::chrono::seconds kStopPatience{5};
// One takes some tens of microseconds, but more than a second while another process gives tens of
// gigabytes of host memory back. This long only if the driver never returns.
constexpr std::chrono::seconds kDriverPatience{300};

}  // namespace

Status Mover::WaitReachable(const StreamWork& work) {
  const auto named = [&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    return !synchronous_.load(std::memory_order_relaxed) &&
           scheduler_.reachability().MustWait(work);
  };
  if (WaitMapped(named)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("memory of this work has lost its mapping and could not be mapped again",
                   accounts_.error.ok() ? "" : ": ", accounts_.error.message(),
                   "; synchronize, free what can be freed, and try again"));
}

bool Mover::WaitMapped(absl::FunctionRef<bool()> unmapped) {
  const auto begin = Clock::now();
  const uint64_t failed = accounts_.stats.moves_failed;
  while (unmapped()) {
    if (dead_) return false;
    const bool refused = scheduler_.moves().First(ChunkMove::Stage::kLost) != nullptr ||
                         accounts_.stats.moves_failed != failed;
    if (Clock::now() - begin > (refused ? kRemapPatience : kDriverPatience)) return false;
    WakeThread();
    done_.WaitFor(memory_.mu, std::chrono::milliseconds(5));
  }
  return true;
}

bool Mover::BeginAddressQuery() {
  if (!tracking_.load(std::memory_order_acquire)) return false;
  MutexLock lock(memory_.mu);
  scheduler_.reachability().QueryBegan();
  if (memory_.any_unmapped()) scheduler_.unmapped().KeepMapped(Now());
  WaitMapped([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    return !dead_ && scheduler_.reachability().QueryMustWait();
  });
  return true;
}

void Mover::EndAddressQuery() {
  MutexLock lock(memory_.mu);
  // Of another runtime, perhaps, whose place this one has taken since.
  if (scheduler_.reachability().QueryEnded()) WakeThread();
}

bool Mover::BeginForeignWork() {
  if (!tracking_.load(std::memory_order_acquire)) return false;
  MutexLock lock(memory_.mu);
  memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
  scheduler_.work().ForeignWorkBegan(Now());
  WaitUntil([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    const bool any = memory_.any_unmapped();
    scheduler_.unmapped().MapAll(any);
    if (any) WakeThread();
    return dead_ || (!any && !scheduler_.moving());
  });
  return true;
}

void Mover::EndForeignWork() {
  MutexLock lock(memory_.mu);
  // Of another runtime, perhaps, whose place this one has taken since.
  if (!scheduler_.work().ForeignWorkEnded()) return;
  memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  WakeThread();
}

std::vector<CUcontext> Mover::BeginOthers() {
  std::vector<CUcontext> others;
  if (options_.others != nullptr) others = options_.others(memory_.options().context);
  if (others.empty()) return others;
  MutexLock lock(memory_.mu);
  memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
  scheduler_.work().ForeignWorkBegan(Now());
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
  scheduler_.unmapped().KeepMappedUntil(Instant::max());
  const auto moving = [&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    return memory_.any_unmapped() || scheduler_.moving();
  };
  const auto until = Clock::now() + kStopPatience;
  while (moving() && !dead_ && Clock::now() < until) {
    scheduler_.unmapped().MapAll();
    WakeThread();
    done_.WaitFor(memory_.mu, std::chrono::milliseconds(5));
  }
  return !moving();
}

}  // namespace vramspan
