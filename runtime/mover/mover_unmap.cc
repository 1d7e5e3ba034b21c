// What the program unmaps itself, or has memory of the driver put in the place of. Both take memory
// from behind an address, so both come to pass only when no work that was submitted can miss it.
//
// An unmap is the program's own word that nothing uses the memory: the driver waits for nothing and
// lets work that is wrong about that die. Here it waits for work that names the memory, since that
// may have ended without the mover having looked; not for work that is only thought to go so far.
#include <absl/algorithm/container.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <thread>

#include "runtime/memory/remap.h"
#include "runtime/mover/mover.h"

namespace vramspan {
namespace {

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

bool Mover::Named(absl::Span<const ChunkIndex> chunks) {
  const auto names = [&](const Work* work) {
    return absl::c_any_of(Own(work)->all, [&](const ChunkUse& use) {
      return !use.how.guessed && absl::c_linear_search(chunks, use.chunk);
    });
  };
  const auto loosely = [&](ChunkIndex index) VS_NO_THREAD_SAFETY_ANALYSIS {
    size_t count = 0;
    for (const auto& state : streams_.busy()) {
      for (const StreamWork* work : state->in_flight) {
        for (const ChunkUse& use : work->mapped_only) count += use.chunk == index;
      }
    }
    return count;
  };
  bool counted = false;
  for (const ChunkIndex index : chunks) {
    const Chunk& c = memory_.chunks()[index];
    if (c.in_submission != 0) return true;  // A thread hands it to the driver.
    // More than work accounts for: the listener has yet to read it.
    if (c.mapped_only != 0 && c.mapped_only > loosely(index)) return true;
    counted = counted || c.in_flight != 0 || c.queued != 0 || c.mapped_only != 0;
  }
  if (!counted) return false;
  return absl::c_any_of(scheduler_.queue(), names) ||
         absl::c_any_of(streams_.busy(),
                        [&](const auto& state) { return absl::c_any_of(state->in_flight, names); });
}

bool Mover::CallOffFingerprints(absl::Span<const ChunkIndex> chunks) {
  bool any = false;
  for (const auto& state : streams_.busy()) {
    for (const StreamWork* work : state->in_flight) {
      for (const StreamWork::Fingerprint& queued : work->fingerprints) {
        if (!absl::c_linear_search(chunks, queued.chunk)) continue;
        any = fingerprints_->CallOff(queued.slot) || any;
      }
    }
  }
  if (options_.listener != nullptr) any = options_.listener->CallOffReads(chunks) || any;
  return any;
}

StatusOr<std::vector<Memory::Detached>> Mover::Unmap(absl::Span<const DevicePtr> mappings,
                                                     DevicePtr p, Bytes size) {
  std::vector<std::vector<ChunkIndex>> claimed;
  std::vector<ChunkIndex> all;
  {
    MutexLock lock(memory_.mu);
    for (const DevicePtr at : mappings) {
      StatusOr<std::vector<ChunkIndex>> chunks = memory_.Claim(at);
      if (!chunks.ok()) {
        memory_.Unclaim(all);
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
    SharedLock mapping(memory_.mapping_mu);
    std::vector<Memory::Taken> taken;
    {
      MutexLock lock(memory_.mu);
      const auto now = Clock::now();
      const bool moving = absl::c_any_of(all, [&](ChunkIndex c) VS_NO_THREAD_SAFETY_ANALYSIS {
        return memory_.chunks()[c].state == ChunkState::kMoving;
      });
      bool waits = moving || (now - begun < kNamedPatience && Named(all));
      if (!waits && CallOffFingerprints(all)) {
        if (!called_off.has_value()) called_off = now;
        waits = now - *called_off < kFingerprintPatience;
      }
      if (waits && now - begun > kPatience) {
        memory_.Unclaim(all);
        return absl::DeadlineExceededError(absl::StrCat("cannot unmap ", RangeText(p, size),
                                                        ": a move of it has not ended in ",
                                                        kPatience.count(), " s"));
      }
      WakeThread();
      if (waits) continue;
      for (size_t i = 0; i < mappings.size(); ++i) {
        taken.push_back(memory_.TakeOut(mappings[i], claimed[i]));
      }
    }
    return UnmapTaken(taken, p, size);
  }
}

StatusOr<std::vector<Memory::Detached>> Mover::UnmapTaken(absl::Span<const Memory::Taken> taken,
                                                          DevicePtr p, Bytes size) {
  Status status;
  {
    ScopedContext current(*driver_, memory_.options().context);
    status = current.status();
    // One call for all: it fails for all or for none. Holes do not matter to it.
    if (status.ok()) {
      status = Check((*driver_)->MemUnmap(p.value, size.value), "cuMemUnmap", RangeText(p, size));
    }
    if (!status.ok()) {
      for (const Memory::Taken& t : taken) memory_.PutBack(t, /*unmapped=*/false);
      return status;
    }
  }
  std::vector<Memory::Detached> detached;
  MutexLock lock(memory_.mu);
  for (const Memory::Taken& t : taken) {
    memory_.Leave(t);
    detached.push_back(t.detached);
  }
  return detached;
}

Status Mover::CloseUnused(absl::Span<const ChunkIndex> chunks, bool claim, const char* why) {
  const auto begun = Clock::now();
  // Where nobody sees the program's work, all of it is waited for. Where it is seen since it was
  // tracking, what streams carried before ends by their marks; some streams nobody can mark.
  bool drained = false;
  const auto unused = [&]() VS_NO_THREAD_SAFETY_ANALYSIS {
    return memory_.unknown_work.load(std::memory_order_acquire) == 0 &&
           absl::c_all_of(chunks, [&](ChunkIndex index) VS_NO_THREAD_SAFETY_ANALYSIS {
             const Chunk& c = memory_.chunks()[index];
             return IsUnused(c) && (drained || memory_.UsersKnown(c));
           });
  };
  Clock::duration closed{0};
  for (;; std::this_thread::sleep_for(kUnmapPeriod)) {
    bool marked;
    {
      MutexLock lock(memory_.mu);
      marked = options_.traced && memory_.tracking() != Tracking::kNone &&
               (draining_ != 0 || Clock::now() - begun < kUnmarkedPatience);
    }
    if (!marked && (!drained || !options_.traced)) {
      VS_RETURN_IF_ERROR(memory_.Drain());
      drained = true;
    }
    // From the closing of the gate on nobody submits anything, and what was submitted is recorded.
    // What runs ends meanwhile, so the gate stays closed for a while: for longer each time.
    if (gate_.Close(kCloseDeadline)) {
      const auto until = Clock::now() + closed;
      for (;; std::this_thread::sleep_for(kUnmapPeriod)) {
        {
          MutexLock lock(memory_.mu);
          if (unused()) {
            // Nor does the mover begin to move them.
            for (const ChunkIndex index : chunks) {
              memory_.chunks()[index].dying = claim;
              memory_.chunks().NoteChange(index);
            }
            return absl::OkStatus();
          }
          WakeThread();
        }
        if (Clock::now() >= until) break;
      }
      gate_.Open();
      closed = std::clamp<Clock::duration>(closed * 2, std::chrono::milliseconds(1), kMostClosed);
    }
    if (Clock::now() - begun > kPatience) {
      return absl::DeadlineExceededError(absl::StrCat(
          "cannot ", why, ": work that may use it has not finished in ", kPatience.count(), " s"));
    }
  }
}

StatusOr<Memory::Detached> Mover::Replace(absl::Span<const DevicePtr> mappings, Bytes size,
                                          CUmemGenericAllocationHandle by,
                                          absl::FunctionRef<Status(const Memory::Detached&)> copy,
                                          absl::FunctionRef<Status(DevicePtr)> open) {
  VS_RETURN_IF_ERROR(AwaitTracking());
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
  MutexLock one(sharing_);
  VS_RETURN_IF_ERROR(
      CloseUnused(all, /*claim=*/true, "put memory of the driver in the place of the program's"));
  SharedLock mapping(memory_.mapping_mu);
  StatusOr<Memory::Detached> detached;
  {
    MutexLock lock(memory_.mu);
    detached = memory_.DetachedAt(mappings.front());
  }
  ScopedContext current(*driver_, memory_.options().context);
  Status status = detached.ok() ? current.status() : detached.status();
  if (status.ok()) status = copy(*detached);
  size_t unmapped = 0;
  size_t mapped = 0;
  while (status.ok() && mapped < mappings.size()) {
    const DevicePtr at = mappings[mapped];
    status = Check((*driver_)->MemUnmap(at.value, size.value), "cuMemUnmap", RangeText(at, size));
    if (!status.ok()) break;
    ++unmapped;
    status = MapAt(*driver_, memory_.accessors(), at, size, by);
    if (!status.ok()) break;
    ++mapped;
    status = open(at);
  }
  // Only now: what finds no memory of ours would not stop at the gate.
  for (size_t i = 0; i < mappings.size(); ++i) {
    if (!status.ok() && i < mapped) {
      driver_->RecordBackgroundError(Check((*driver_)->MemUnmap(mappings[i].value, size.value),
                                           "cuMemUnmap", RangeText(mappings[i], size)));
    }
    Memory::Taken taken;
    {
      MutexLock lock(memory_.mu);
      taken = memory_.TakeOut(mappings[i], chunks[i]);
      if (status.ok()) memory_.Leave(taken);
    }
    if (!status.ok()) memory_.PutBack(taken, /*unmapped=*/i < unmapped);
  }
  gate_.Open();
  if (!status.ok()) return status;
  return detached;
}

}  // namespace vramspan
