#include "runtime/mover/unmapping.h"

#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <thread>

#include "runtime/memory/remap.h"

namespace vramspan {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than the mover is ever away from looking what has ended.
constexpr std::chrono::seconds kNamedPatience{1};
// Longer than a fingerprint takes that has begun; those that have not are called off.
constexpr std::chrono::milliseconds kFingerprintPatience{250};
// Moves end, and so does work that keeps coming, but neither is waited for for ever.
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::microseconds kUnmapPeriod{50};
// A thread inside the driver may be there for long.
constexpr std::chrono::milliseconds kCloseDeadline{2};
// While the gate is closed, for what runs to end: longer each time, up to this.
constexpr std::chrono::milliseconds kMostClosed{250};
// For streams that nobody can mark to tell what they carried before work was recorded.
constexpr std::chrono::milliseconds kUnmarkedPatience{200};

}  // namespace

size_t Unmapping::Loosely(ChunkIndex chunk) const {
  size_t count = 0;
  for (const auto& state : parts_.streams->busy()) {
    for (const StreamWork* work : state->in_flight) {
      for (const ChunkUse& use : work->mapped_only) count += use.chunk == chunk;
    }
  }
  return count;
}

bool Unmapping::Named(absl::Span<const ChunkIndex> chunks) {
  const auto names = [&](const Work* work) {
    return absl::c_any_of(static_cast<const StreamWork*>(work)->all, [&](const ChunkUse& use) {
      return !use.how.guessed && absl::c_linear_search(chunks, use.chunk);
    });
  };
  bool counted = false;
  for (const ChunkIndex index : chunks) {
    const Chunk& c = memory_.chunks()[index];
    if (c.in_submission != 0) return true;  // A thread hands it to the driver.
    // More than work accounts for: the listener has yet to read it.
    if (c.mapped_only != 0 && c.mapped_only > Loosely(index)) return true;
    counted = counted || c.in_flight != 0 || c.queued != 0 || c.mapped_only != 0;
  }
  if (!counted) return false;
  return absl::c_any_of(parts_.scheduler->queue(), names) ||
         absl::c_any_of(parts_.streams->busy(),
                        [&](const auto& state) { return absl::c_any_of(state->in_flight, names); });
}

bool Unmapping::CallOffReads(absl::Span<const ChunkIndex> chunks) {
  bool any = false;
  for (const auto& state : parts_.streams->busy()) {
    for (const StreamWork* work : state->in_flight) any |= parts_.prints->CallOff(*work, chunks);
  }
  if (parts_.listener != nullptr) any = parts_.listener->CallOffReads(chunks) || any;
  return any;
}

bool Unmapping::Moving(absl::Span<const ChunkIndex> chunks) {
  return absl::c_any_of(chunks, [&](ChunkIndex c) VS_NO_THREAD_SAFETY_ANALYSIS {
    return memory_.chunks()[c].state == ChunkState::kMoving;
  });
}

StatusOr<std::vector<DetachedMemory>> Unmapping::Unmap(absl::Span<const DevicePtr> mappings,
                                                       DevicePtr p, Bytes size) {
  std::vector<std::vector<ChunkIndex>> claimed;
  std::vector<ChunkIndex> all;
  {
    MutexLock lock(memory_.mu);
    for (const DevicePtr at : mappings) {
      StatusOr<std::vector<ChunkIndex>> chunks = memory_.mappings().Claim(at);
      if (!chunks.ok()) {
        memory_.mappings().Unclaim(all);
        return chunks.status();
      }
      all.insert(all.end(), chunks->begin(), chunks->end());
      claimed.push_back(*std::move(chunks));
    }
  }
  const auto begun = Clock::now();
  std::optional<Clock::time_point> called_off;
  for (;; std::this_thread::sleep_for(kUnmapPeriod)) {
    // From before they are taken out until the driver has unmapped them; not while it waits.
    SharedLock mapping(memory_.peers().mapping_mu);
    std::vector<Mappings::Taken> taken;
    {
      MutexLock lock(memory_.mu);
      const auto now = Clock::now();
      bool waits = Moving(all) || (now - begun < kNamedPatience && Named(all));
      if (!waits && CallOffReads(all)) {
        if (!called_off.has_value()) called_off = now;
        waits = now - *called_off < kFingerprintPatience;
      }
      if (waits && now - begun > kPatience) {
        memory_.mappings().Unclaim(all);
        return absl::DeadlineExceededError(absl::StrCat("cannot unmap ", RangeText(p, size),
                                                        ": a move of it has not ended in ",
                                                        kPatience.count(), " s"));
      }
      parts_.signals->Wake();
      if (waits) continue;
      for (size_t i = 0; i < mappings.size(); ++i) {
        taken.push_back(memory_.mappings().TakeOut(mappings[i], claimed[i]));
      }
    }
    return UnmapTaken(taken, p, size);
  }
}

StatusOr<std::vector<DetachedMemory>> Unmapping::UnmapTaken(absl::Span<const Mappings::Taken> taken,
                                                            DevicePtr p, Bytes size) {
  Status status;
  {
    ScopedContext current(memory_.driver(), memory_.options().context);
    status = current.status();
    // One call for all: it fails for all or for none. Holes do not matter to it.
    if (status.ok()) {
      status =
          Check(memory_.driver()->MemUnmap(p.value, size.value), "cuMemUnmap", RangeText(p, size));
    }
    if (!status.ok()) {
      for (const Mappings::Taken& t : taken)
        memory_.vmm().PutBack(t, /*unmapped=*/false, memory_.peers().accessors());
      return status;
    }
  }
  std::vector<DetachedMemory> detached;
  MutexLock lock(memory_.mu);
  for (const Mappings::Taken& t : taken) {
    memory_.mappings().Leave(t);
    detached.push_back(t.detached);
  }
  return detached;
}

bool Unmapping::Unused(absl::Span<const ChunkIndex> chunks, bool drained) {
  return memory_.unknown_work.load(std::memory_order_acquire) == 0 &&
         absl::c_all_of(chunks, [&](ChunkIndex index) VS_NO_THREAD_SAFETY_ANALYSIS {
           const Chunk& c = memory_.chunks()[index];
           return IsUnused(c) && (drained || memory_.UsersKnown(c));
         });
}

bool Unmapping::EndsByMarks(Clock::duration waited) {
  MutexLock lock(memory_.mu);
  return parts_.traced && memory_.tracking() != Tracking::kNone &&
         (parts_.streams->draining() || waited < kUnmarkedPatience);
}

Status Unmapping::CloseUnused(absl::Span<const ChunkIndex> chunks, bool claim, const char* why) {
  const auto begun = Clock::now();
  // Where nobody sees the program's work, all of it is waited for. Where it is seen since it was
  // tracking, what streams carried before ends by their marks; some streams nobody can mark.
  bool drained = false;
  Clock::duration closed{0};
  for (;; std::this_thread::sleep_for(kUnmapPeriod)) {
    if (!EndsByMarks(Clock::now() - begun) && (!drained || !parts_.traced)) {
      VS_RETURN_IF_ERROR(memory_.drains().Drain());
      drained = true;
    }
    // From the closing of the gate on nobody submits anything, and what was submitted is recorded.
    // What runs ends meanwhile, so the gate stays closed for a while: for longer each time.
    if (parts_.gate->Close(kCloseDeadline)) {
      const auto until = Clock::now() + closed;
      for (;; std::this_thread::sleep_for(kUnmapPeriod)) {
        {
          MutexLock lock(memory_.mu);
          if (Unused(chunks, drained)) {
            // Nor does the mover begin to move them.
            for (const ChunkIndex index : chunks) {
              memory_.chunks()[index].dying = claim;
              memory_.chunks().NoteChange(index);
            }
            return absl::OkStatus();
          }
          parts_.signals->Wake();
        }
        if (Clock::now() >= until) break;
      }
      parts_.gate->Open();
      closed = std::clamp<Clock::duration>(closed * 2, std::chrono::milliseconds(1), kMostClosed);
    }
    if (Clock::now() - begun > kPatience) {
      return absl::DeadlineExceededError(absl::StrCat(
          "cannot ", why, ": work that may use it has not finished in ", kPatience.count(), " s"));
    }
  }
}

Status Unmapping::Swap(absl::Span<const DevicePtr> mappings, Bytes size,
                       CUmemGenericAllocationHandle by, absl::FunctionRef<Status(DevicePtr)> open,
                       Swapped* done) {
  while (done->mapped < mappings.size()) {
    const DevicePtr at = mappings[done->mapped];
    VS_RETURN_IF_ERROR(
        Check(memory_.driver()->MemUnmap(at.value, size.value), "cuMemUnmap", RangeText(at, size)));
    ++done->unmapped;
    VS_RETURN_IF_ERROR(MapAt(memory_.driver(), memory_.peers().accessors(), at, size, by));
    ++done->mapped;
    VS_RETURN_IF_ERROR(open(at));
  }
  return absl::OkStatus();
}

StatusOr<DetachedMemory> Unmapping::Replace(absl::Span<const DevicePtr> mappings, Bytes size,
                                            CUmemGenericAllocationHandle by,
                                            absl::FunctionRef<Status(const DetachedMemory&)> copy,
                                            absl::FunctionRef<Status(DevicePtr)> open) {
  std::vector<std::vector<ChunkIndex>> chunks(mappings.size());
  std::vector<ChunkIndex> all;
  {
    MutexLock lock(memory_.mu);
    for (size_t i = 0; i < mappings.size(); ++i) {
      memory_.ForEachChunk(mappings[i], size,
                           [&](ChunkIndex index, Chunk&) { chunks[i].push_back(index); });
      all.insert(all.end(), chunks[i].begin(), chunks[i].end());
    }
  }
  MutexLock alone(one);
  VS_RETURN_IF_ERROR(
      CloseUnused(all, /*claim=*/true, "put memory of the driver in the place of the program's"));
  SharedLock mapping(memory_.peers().mapping_mu);
  StatusOr<DetachedMemory> detached;
  {
    MutexLock lock(memory_.mu);
    detached = memory_.mappings().DetachedAt(mappings.front());
  }
  ScopedContext current(memory_.driver(), memory_.options().context);
  Status status = detached.ok() ? current.status() : detached.status();
  if (status.ok()) status = copy(*detached);
  Swapped done;
  if (status.ok()) status = Swap(mappings, size, by, open, &done);
  // Only now: what finds no memory of ours would not stop at the gate.
  for (size_t i = 0; i < mappings.size(); ++i) {
    if (!status.ok() && i < done.mapped) {
      memory_.driver().RecordBackgroundError(
          Check(memory_.driver()->MemUnmap(mappings[i].value, size.value), "cuMemUnmap",
                RangeText(mappings[i], size)));
    }
    Mappings::Taken taken;
    {
      MutexLock lock(memory_.mu);
      taken = memory_.mappings().TakeOut(mappings[i], chunks[i]);
      if (status.ok()) memory_.mappings().Leave(taken);
    }
    if (!status.ok())
      memory_.vmm().PutBack(taken, /*unmapped=*/i < done.unmapped, memory_.peers().accessors());
  }
  parts_.gate->Open();
  if (!status.ok()) return status;
  return detached;
}

}  // namespace vramspan
