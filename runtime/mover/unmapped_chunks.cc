// Host chunks without a mapping. Mapping and unmapping host memory takes ten times as long as
// device memory (docs/measurements.md). A chunk that is evicted to be fetched again needs neither,
// so it stays unmapped. This makes the remap window longer. So it is done only where work says what
// it touches:
//  - A barrier waits until everything is mapped. No chunk is left unmapped before the barrier has
//    ended, nor for a while after.
//  - Other work finds mapped whatever it may touch (Use::mapped_only). Exception: a chunk that one
//  of
//    the next launches needs on the device is fetched, and not mapped on the host first.
//  - The driver looks up what copies and fills name when they are submitted, captured ones too. So
//    they wait for those chunks. Address queries wait for all chunks, and hold remaps off.
//  - While foreign work runs everything is mapped and nothing moves.
//  - Everything is mapped again when the program has been idle for a while.
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

// Longer than a program thinks between two steps of what it does.
constexpr std::chrono::milliseconds kIdle{100};
// In one round, so that what waits for something else does not wait for this.
constexpr std::chrono::milliseconds kMapTime{2};
constexpr std::chrono::seconds kStopPatience{5};
// One takes some tens of microseconds, but more than a second while another process gives tens of
// gigabytes of host memory back. This long only if the driver never returns.
constexpr std::chrono::seconds kDriverPatience{300};

}  // namespace

bool Mover::MayStayUnmapped(const Move& move) {
  const Chunk& c = memory_.chunks()[move.chunk];
  if (absl::c_any_of(queue_, [](const StreamWork* work) { return work->barrier(); })) return false;
  return Clock::now() >= no_unmapping_before_ && barriers_in_flight_ == 0 && !map_all_ &&
         !move.explicit_request && c.mapped_only == 0 && c.in_submission == 0 &&
         unknown_in_submission_ == 0 && address_queries_ == 0 && !Residency::ServedInPlace(c) &&
         memory_.unmapped() < kMostUnmapped && !synchronous_.load(std::memory_order_relaxed);
}

bool Mover::WaitsForUnmapped(StreamWork* work, bool has_its_memory) {
  if (!memory_.any_unmapped() || work->kind != Work::Kind::kScope || dead_) return false;
  if (work->barrier()) {
    map_all_ = true;
    return true;
  }
  bool waits = false;
  for (const ChunkUse& use : work->all) {
    const ChunkIndex index = use.chunk;
    if (!memory_.chunks()[index].unmapped) continue;
    waits = true;
    if (!use.how.possible && !has_its_memory) continue;  // It may still come.
    if (!use.how.possible || !ComesSoon(work, index)) to_map_.push_back(index);
  }
  return waits;
}

bool Mover::WantedBehind(const StreamWork* work, ChunkIndex index) const {
  if (!residency_.Movable(residency_[index])) return false;
  constexpr auto kAhead = static_cast<ptrdiff_t>(kFetchedNotMapped);
  const auto at = absl::c_find(queue_, work);
  const auto end = queue_.end() - at > kAhead ? at + kAhead + 1 : queue_.end();
  return at != end && std::any_of(at + 1, end, [&](const StreamWork* next) {
           return !next->run_in_place && absl::c_linear_search(next->wanted, index);
         });
}

bool Mover::ComesSoon(StreamWork* work, ChunkIndex index) {
  const bool active = !moves_.empty() || in_flight_ != 0;
  const auto answer = awaited_fetches_.Look(active, work->run_in_place, Now(), &work->awaited);
  if (answer == AwaitedFetches::Answer::kInVain) work->fetch_for_others.clear();
  if (answer != AwaitedFetches::Answer::kWait) return false;
  const Chunk& c = memory_.chunks()[index];
  if (c.state == ChunkState::kMoving || absl::c_linear_search(work->fetch_for_others, index))
    return true;
  if (!WantedBehind(work, index)) return false;
  work->fetch_for_others.push_back(index);
  look_again_ = true;
  return true;
}

bool Mover::MapChunksOnHost() {
  const auto now = Clock::now();
  if (!memory_.any_unmapped() || now < no_moves_before_) return false;
  std::vector<ChunkIndex> wanted;
  {
    MutexLock lock(memory_.mu);
    if (trials_.TimedRuns(Now())) return false;
    if (queue_.empty() && works_in_submission_ == 0 && now - last_progress_ > kIdle)
      map_all_ = true;
    wanted.swap(to_map_);
    if (map_all_) {
      wanted.clear();
      for (uint32_t i = 1; i < memory_.chunks().end(); ++i) {
        if (memory_.chunks()[ChunkIndex(i)].unmapped) wanted.push_back(ChunkIndex(i));
      }
    }
  }
  bool any = false;
  for (const ChunkIndex index : wanted) {
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
    Chunk& c = memory_.chunks()[index];
    // What is on its way to the device is there soon.
    if (!c.unmapped || c.state != ChunkState::kHost) return false;
    va = c.base;
    size = c.size();
    slot = c.host_slot;
    c.Transition(ChunkState::kMoving);
    moves_under_way_.fetch_add(1, std::memory_order_relaxed);
  }
  const auto begin = Clock::now();
  SharedLock mapping(memory_.mapping_mu);
  const Status status =
      MapAt(*driver_, memory_.accessors(), va, size, memory_.host_pool().handle(slot));
  MutexLock lock(memory_.mu);
  stats_.vmm_ns += static_cast<uint64_t>((Clock::now() - begin).count());
  ++stats_.remaps;
  memory_.chunks()[index].Transition(ChunkState::kHost);
  moves_under_way_.fetch_sub(1, std::memory_order_relaxed);
  if (status.ok()) {
    memory_.SetUnmapped(index, false);
  } else {
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
      map_all_ = unmapped;
      return true;
    }
    bool any = false;
    for (const auto& [chunk, how] : work.all) {
      if (how.kernels_only) continue;
      any = any || absl::c_linear_search(unreachable_, chunk);
      if (!memory_.chunks()[chunk].unmapped) continue;
      to_map_.push_back(chunk);
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
  if (memory_.any_unmapped()) no_unmapping_before_ = Clock::now() + kNoUnmapping;
  WaitMapped([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    map_all_ = memory_.any_unmapped();
    return (map_all_ || !unreachable_.empty()) && !dead_;
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
  ++barriers_in_flight_;
  no_unmapping_before_ = Clock::now() + kNoUnmapping;
  WaitUntil([&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    map_all_ = memory_.any_unmapped();
    if (map_all_) WakeThread();
    return dead_ || (!map_all_ && moves_under_way_.load(std::memory_order_relaxed) == 0);
  });
  return true;
}

void Mover::EndForeignWork() {
  MutexLock lock(memory_.mu);
  DoubtTwins(/*but_read_mostly=*/false);
  // Of another runtime, perhaps, whose place this one has taken since.
  if (barriers_in_flight_ == 0) return;
  --barriers_in_flight_;
  memory_.unknown_work.fetch_sub(1, std::memory_order_relaxed);
  WakeThread();
}

std::vector<CUcontext> Mover::BeginOthers() {
  std::vector<CUcontext> others;
  if (options_.others != nullptr) others = options_.others(memory_.options().context);
  if (others.empty()) return others;
  MutexLock lock(memory_.mu);
  memory_.unknown_work.fetch_add(1, std::memory_order_relaxed);
  ++barriers_in_flight_;
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
  no_unmapping_before_ = Clock::time_point::max();
  const auto moving = [&] {
    return memory_.any_unmapped() || moves_under_way_.load(std::memory_order_relaxed) != 0;
  };
  const auto until = Clock::now() + kStopPatience;
  while (moving() && !dead_ && Clock::now() < until) {
    map_all_ = true;
    WakeThread();
    done_.WaitFor(memory_.mu, std::chrono::milliseconds(5));
  }
  return !moving();
}

}  // namespace vramspan
