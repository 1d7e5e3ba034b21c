// Explicit placement: prefetch, pin and unpin. Each is work without a launch, which goes through
// the queue as declared work does (mover_submit.cc) and is served by the same planner.
#include <absl/strings/str_cat.h>

#include <thread>

#include "runtime/mover/mover.h"

namespace vramspan {
namespace {

// Of work that is nothing but a move.
constexpr Use kNoUse{.write = false, .kernels_only = true};

// A pin does not outwait what stands in its way for the moment, as a launch would not. A hold may.
constexpr std::chrono::seconds kHoldPatience{2};
constexpr std::chrono::microseconds kHoldPeriod{50};

}  // namespace

Status Mover::Prefetch(DevicePtr ptr, Bytes size, bool to_device, CUstream stream) {
  VS_RETURN_IF_ERROR(AwaitTracking());
  gate_.Enter();
  StreamWork* work;
  {
    MutexLock lock(memory_.mu);
    work = works_.New();
    work->kind = to_device ? Work::Kind::kFetch : Work::Kind::kEvict;
  }
  const WorkRange range{ptr, size, kNoUse};
  Status status = Submit(work, stream, {&range, 1});
  if (status.ok()) status = EndWork(work);
  gate_.Exit();
  return status;
}

Status Mover::Pin(DevicePtr ptr, Bytes size) {
  VS_RETURN_IF_ERROR(AwaitTracking());
  bool unknown_users = false;
  {
    MutexLock lock(memory_.mu);
    if (!memory_.ForEachChunk(ptr, size, [&](ChunkIndex, Chunk& c) {
          unknown_users = unknown_users || (!c.on_device && !c.movable);
        })) {
      return absl::InvalidArgumentError("cannot pin: not in a live allocation of this runtime");
    }
  }
  if (unknown_users) VS_RETURN_IF_ERROR(memory_.Drain());
  MutexLock lock(memory_.mu);
  StreamWork* work = works_.New();
  work->kind = Work::Kind::kPin;
  work->submitted_at = Now();
  work->submitted = true;
  if (!CountIn(work)) {
    works_.Recycle(work);
    return absl::ResourceExhaustedError(
        "cannot pin: too much work is under way; wait for some of it");
  }
  const WorkRange range{ptr, size, kNoUse};
  CollectChunks({&range, 1}, work);
  for (const ChunkUse& use : work->uses) {
    if (unknown_users) scheduler_.UsersDeclared(use.chunk);
  }
  ++works_in_submission_;
  ++accounts_.stats.works_held;
  scheduler_.work().Submit(work, At());
  WakeThread();
  WaitUntil([work] { return work->released; });
  const bool pinned = work->pinned;
  --works_in_submission_;
  works_.Recycle(work);
  if (pinned) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot pin ", size.value, " bytes: the device budget of ",
                   memory_.device_pool().budget().value,
                   " has no room for them beside what is "
                   "pinned or in use; raise the budget or unpin something"));
}

Status Mover::Hold(DevicePtr ptr, Bytes size) {
  {
    MutexLock lock(memory_.mu);
    std::vector<ChunkIndex> chunks;
    bool there = true;
    const bool found = memory_.ForEachChunk(ptr, size, [&](ChunkIndex index, Chunk& c) {
      there = there && c.on_device && c.state != ChunkState::kMoving;
      chunks.push_back(index);
    });
    if (found && there) {
      for (const ChunkIndex index : chunks) PinHere(index);
      return absl::OkStatus();
    }
  }
  Status pinned = Pin(ptr, size);
  const bool may_fit = RoundUp(size, kGranularity) <= memory_.device_pool().budget();
  const auto end = Clock::now() + kHoldPatience;
  while (may_fit && absl::IsResourceExhausted(pinned) && Clock::now() < end) {
    std::this_thread::sleep_for(kHoldPeriod);
    pinned = Pin(ptr, size);
  }
  return pinned;
}

void Mover::PinHere(ChunkIndex index) {
  if (memory_.pins[index.value]++ != 0) return;
  memory_.DropHostCopy(index);
  memory_.chunks()[index].Transition(ChunkState::kPinned);
  memory_.chunks().NoteChange(index);
}

Status Mover::Unpin(DevicePtr ptr, Bytes size) {
  MutexLock lock(memory_.mu);
  bool all = true;
  std::vector<ChunkIndex> chunks;
  const bool found = memory_.ForEachChunk(ptr, size, [&](ChunkIndex index, Chunk& c) {
    all = all && c.state == ChunkState::kPinned;
    chunks.push_back(index);
  });
  if (!found || !all) {
    return absl::InvalidArgumentError(
        found ? "cannot unpin: part of the range is not pinned"
              : "cannot unpin: not in a live allocation of this runtime");
  }
  for (const ChunkIndex index : chunks) {
    if (--memory_.pins[index.value] != 0) continue;
    memory_.pins.erase(index.value);
    memory_.chunks()[index].Transition(ChunkState::kDevice);
    memory_.chunks().NoteChange(index);
  }
  scheduler_.LookAgain();
  WakeThread();
  return absl::OkStatus();
}

}  // namespace vramspan
