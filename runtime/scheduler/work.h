// One submission as decisions see it: which chunks it touches, how, and how far it has come.
//
// Pure: plain values. Whoever runs the work derives from it what else it knows.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_WORK_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_WORK_H_

#include <absl/types/span.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/placement/kernel_history.h"
#include "runtime/placement/reuse.h"
#include "runtime/scheduler/awaited_fetches.h"
#include "runtime/scheduler/named_part.h"

namespace vramspan {

// What work does with a piece of memory.
struct Use {
  uint16_t slot = LaunchSample::kSeveral;  // The argument of a kernel that names it.
  bool write : 1 = true;
  // Only kernels touch it. The driver looks up what copies and fills name when they are submitted,
  // and refuses what is not mapped just then; a kernel's arguments it never looks at.
  bool kernels_only : 1 = false;
  bool once : 1 = false;         // Each byte is touched once at most.
  bool possible : 1 = false;     // May be touched, but most likely is not. With `once`.
  bool mapped_only : 1 = false;  // And it may move all the same, but must be mapped.
  // Nobody named it: what is named is thought to go so far. Of a range: all but where it begins.
  bool guessed : 1 = false;
  // Of a copy or a fill: its thread is inside the driver until it is done, which keeps the chunk
  // where it is.
  bool waited : 1 = false;
  // Possible, by a pointer to a block that its allocator told of: memory that is free is not meant.
  // Once work is submitted: the memory was free by then.
  bool told : 1 = false;
  NamedPart part;  // Of the chunk: all that is likely, or all that is possible.

  bool operator==(const Use&) const = default;

  // For memory that is named twice.
  void Add(const Use& other) {
    write |= other.write;
    kernels_only &= other.kernels_only;
    once &= other.once;
    if (possible) slot = other.slot;
    // Kernels often hold a pointer several times over.
    if (!other.possible) slot = std::min(slot, other.slot);
    // What is only possible says nothing of how much is likely.
    if (possible == other.possible) {
      part.Add(other.part);
    } else if (possible) {
      part = other.part;
    }
    possible &= other.possible;
    mapped_only &= other.mapped_only;
    guessed &= other.guessed;
    waited |= other.waited;
    told &= other.told;
  }
};

// A chunk that work touches, with all that its ranges say of it.
struct ChunkUse {
  ChunkIndex chunk;
  Use how;
};
static_assert(sizeof(ChunkUse) == 8);

// What is known of the memory that work touches. The numbers stand in files (events-format.md).
enum class Access : uint8_t {
  kExact = 0,    // Its ranges and no other: what they do not name may move while it runs.
  kPartial = 1,  // Its ranges, and perhaps more: they are fetched, and nothing moves while it runs.
  kUnknown = 2,  // It waits until nothing moves, and nothing moves while it runs.
  // Its ranges, most likely: what they do not name may move while it runs, but all memory is
  // mapped.
  kMapped = 3,
};

// What is to be on the device when work runs, and what of its uses is served where it lies.
struct WantedMemory {
  absl::Span<const ChunkIndex> chunks;  // In order.
  uint64_t version = 0;                 // Of `chunks`, as QueuedWork has it; 0: it has none.
  // By position in the uses: is served where it lies. Empty: none is.
  std::vector<uint8_t> in_place;
  std::vector<ChunkIndex> part;  // `chunks`, where that is not all of the uses.

  bool serves(size_t use) const { return !in_place.empty() && in_place[use] != 0; }
};

// What trials know of work (trials.h).
struct TrialOfWork {
  bool tried = false;   // Looked at for a trial.
  Reuse::Set soon;      // What others needed soon after the last of it.
  LaunchSample sample;  // What was served in place when it was released.
};

// Who submits work: what one thread submits to one stream comes in order.
struct Submitter {
  uint64_t thread = 0;
  const void* stream_key = nullptr;
};

// A fingerprint that may be taken behind work, and where it will be (work_prints.h).
struct WorkPrint {
  ChunkIndex chunk;
  uint32_t slot = 0;  // Of whoever takes it: a place, or in a replay what will be found.
};

struct PrintsOfWork {
  std::vector<WorkPrint> places;
  uint32_t launches = 0;  // That take them, while it is held.
};

struct Work {
  enum class Kind : uint8_t {
    kScope,     // GPU work of the program.
    kFetch,     // Nothing but the fetch of its chunks (prefetch to the device).
    kPin,       // The same, and its chunks are pinned when it is released with all of them there.
    kEvict,     // Nothing but the eviction of its chunks (prefetch to the host).
    kCaptured,  // Its memory is mapped while its scope is open, and that is all; never queued.
  };

  uint64_t id = 0;     // In the order of submission.
  uint64_t place = 0;  // In the order of release.
  Kind kind = Kind::kScope;
  Access access = Access::kExact;
  bool run_in_place = false;   // Is released with its memory wherever it is.
  bool held = false;           // Waits in the queue.
  bool released = false;       // May run, as far as memory goes.
  bool timed = false;          // Its end is to be seen when it comes.
  bool in_submission = false;  // Held, and its thread is still inside the call that submits it.
  bool submitted = false;      // Its thread has left that call, held or not.
  bool needs_arrival = false;  // Some chunk's earlier users are not known yet.
  WantedMemory wanted;

  // What it touches, each chunk once. Whoever made the work keeps these.
  absl::Span<const ChunkUse> uses;         // Most likely.
  absl::Span<const ChunkUse> possible;     // It may. They stay where they are while it runs.
  absl::Span<const ChunkUse> mapped_only;  // It may. They stay mapped, and may move.

  uint64_t kernel = 0;  // What the history knows it by; 0: not a kernel that was seen.
  // By its kernel and its uses, wherever those lie: what the forecast knows it by; 0: nothing.
  uint64_t signature = 0;
  TrialOfWork trial;
  AwaitedFetch awaited;
  Instant submitted_at, released_at;
  Bytes remote;  // On the host when it was released, most likely used.
  PrintsOfWork prints;
  Submitter submitter;
  mutable uint64_t told = 0;  // An EventSink knows what it touches: a mark of the sink's own.

  // Nothing may move while it runs: it may touch any memory.
  bool barrier() const { return access == Access::kPartial || access == Access::kUnknown; }
  // No chunk may lack its mapping while it runs.
  bool needs_all_mapped() const { return access != Access::kExact; }
  bool serves(size_t use) const { return wanted.serves(use); }

  // Calls `visit` with each chunk that must not move while it runs.
  template <typename Visit>
  void ForEachFixed(Visit visit) const {
    for (const ChunkUse& use : uses) visit(use);
    for (const ChunkUse& use : possible) visit(use);
  }
  // The same, and with those that need only be mapped.
  template <typename Visit>
  void ForEach(Visit visit) const {
    ForEachFixed(visit);
    for (const ChunkUse& use : mapped_only) visit(use);
  }

  // In place is what is touched once at most: to move it would cross the bus as often.
  void ServeOnce() {
    wanted.in_place.resize(uses.size());
    for (size_t i = 0; i < uses.size(); ++i) wanted.in_place[i] = uses[i].how.once;
  }
  // Wants all on the device that is not served in place.
  void WantTheRest() {
    wanted.part.clear();
    for (size_t i = 0; i < uses.size(); ++i) {
      if (!serves(i)) wanted.part.push_back(uses[i].chunk);
    }
    wanted.chunks = wanted.part;
  }

  // Takes the memory of another's vectors, empty.
  void TakeVectors(Work* other) {
    const auto take = [](auto* from, auto* to) {
      from->clear();
      *to = std::move(*from);
    };
    take(&other->wanted.in_place, &wanted.in_place);
    take(&other->wanted.part, &wanted.part);
    take(&other->awaited.chunks, &awaited.chunks);
    take(&other->prints.places, &prints.places);
  }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_WORK_H_
