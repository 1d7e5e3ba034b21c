#include "runtime/mover/placements.h"

#include <absl/cleanup/cleanup.h>
#include <absl/strings/str_cat.h>

#include <chrono>
#include <thread>
#include <vector>

namespace vramspan {
namespace {

using Clock = std::chrono::steady_clock;

// Of work that is nothing but a move.
constexpr Use kNoUse{.write = false, .kernels_only = true};

// A pin does not outwait what stands in its way for the moment, as a launch would not. A hold may.
constexpr std::chrono::seconds kHoldPatience{2};
constexpr std::chrono::microseconds kHoldPeriod{50};

}  // namespace

Status Placements::Require() {
  if (!parts_.recording->begun() && parts_.scopes->InOwnScope()) {
    return absl::FailedPreconditionError(
        "memory cannot be moved on request inside a work scope; end the scope first");
  }
  return parts_.recording->Require();
}

Status Placements::Prefetch(DevicePtr ptr, Bytes size, bool to_device, CUstream stream) {
  VS_RETURN_IF_ERROR(Require());
  const Work::Kind kind = to_device ? Work::Kind::kFetch : Work::Kind::kEvict;
  return parts_.scopes->Submit(kind, {ptr, size, kNoUse}, stream);
}

Status Placements::GiveUp(DevicePtr ptr, Bytes size, bool unowned, std::optional<uint64_t> during) {
  parts_.gate->Enter();
  const auto leave = absl::MakeCleanup([this] { parts_.gate->Exit(); });
  bool found = true;
  // Recording neither begins nor ends from here on.
  if (parts_.recording->begun() && during.value_or(watch()) == watch()) {
    MutexLock lock(memory_.mu);
    found = memory_.ForEachChunk(
        ptr, size, [&](ChunkIndex index, Chunk& c) VS_NO_THREAD_SAFETY_ANALYSIS {
          const bool whole = c.base >= ptr && c.base + c.size() <= ptr + size;
          if (open_.load(std::memory_order_relaxed) != 0) return;
          if (whole && c.allocation != 0 && !c.dying) {
            parts_.scheduler->work().GivenUp(index, unowned);
          }
        });
  }
  if (found) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "cannot discard: the range is not in a live allocation of this runtime");
}

uint64_t Placements::watch() const {
  return parts_.recording->begun() ? parts_.recording->times() : 0;
}

void Placements::Own(DevicePtr ptr, Bytes size) {
  if (!parts_.recording->begun()) return;  // Then none is empty.
  MutexLock lock(memory_.mu);
  memory_.ForEachChunk(ptr, size, [&](ChunkIndex index, Chunk& c) VS_NO_THREAD_SAFETY_ANALYSIS {
    if (c.freed()) parts_.scheduler->work().Owned(index);
  });
}

void Placements::OwnAll() {
  if (!parts_.recording->begun()) return;
  MutexLock lock(memory_.mu);
  for (uint32_t i = 1; i < memory_.chunks().end(); ++i) {
    const ChunkIndex index(i);
    if (memory_.chunks()[index].freed()) parts_.scheduler->work().Owned(index);
  }
}

StatusOr<bool> Placements::KnowUsers(DevicePtr ptr, Bytes size) {
  bool unknown = false;
  {
    MutexLock lock(memory_.mu);
    if (!memory_.ForEachChunk(ptr, size, [&](ChunkIndex, Chunk& c) {
          unknown = unknown || (!c.on_device && !c.movable);
        })) {
      return absl::InvalidArgumentError(
          "cannot pin: the range is not in a live allocation of this runtime");
    }
  }
  if (unknown) VS_RETURN_IF_ERROR(memory_.drains().Drain());
  return unknown;
}

Status Placements::Pin(DevicePtr ptr, Bytes size) {
  VS_RETURN_IF_ERROR(Require());
  VS_ASSIGN_OR_RETURN(const bool waited, KnowUsers(ptr, size));
  MutexLock lock(memory_.mu);
  StreamWork* work = parts_.work->New();
  work->kind = Work::Kind::kPin;
  work->submitted_at = parts_.work->At().now;
  work->submitted = true;
  if (!parts_.work->CountIn(work)) {
    parts_.work->Recycle(work);
    return absl::ResourceExhaustedError(
        "cannot pin: too much work is under way; wait for some of it");
  }
  const WorkRange range{ptr, size, kNoUse};
  parts_.work->Collect({&range, 1}, /*kept=*/nullptr, work);
  for (const ChunkUse& use : work->uses) {
    if (waited) parts_.scheduler->UsersDeclared(use.chunk);
  }
  parts_.work->Submit(work);
  parts_.signals->Wake();
  parts_.watch->WaitUntil([work] { return work->released; });
  const bool pinned = work->pinned;
  parts_.work->Recycle(work);
  if (pinned) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot pin ", size.value, " bytes: the device budget of ",
                   memory_.device_pool().budget().value,
                   " has no room for them beside what is "
                   "pinned or in use; raise the budget or unpin something"));
}

Status Placements::Hold(DevicePtr ptr, Bytes size) {
  {
    MutexLock lock(memory_.mu);
    std::vector<ChunkIndex> chunks;
    bool there = true;
    const bool found = memory_.ForEachChunk(ptr, size, [&](ChunkIndex index, Chunk& c) {
      there = there && c.on_device && c.state != ChunkState::kMoving;
      chunks.push_back(index);
    });
    if (found && there) {
      for (const ChunkIndex index : chunks) PinHere(&memory_, index);
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

Status Placements::Unpin(DevicePtr ptr, Bytes size) {
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
              : "cannot unpin: the range is not in a live allocation of this runtime");
  }
  for (const ChunkIndex index : chunks) {
    if (--memory_.pins()[index.value] != 0) continue;
    memory_.pins().erase(index.value);
    memory_.chunks()[index].Transition(ChunkState::kDevice);
    memory_.chunks().NoteChange(index);
  }
  parts_.scheduler->LookAgain();
  parts_.signals->Wake();
  return absl::OkStatus();
}

}  // namespace vramspan
