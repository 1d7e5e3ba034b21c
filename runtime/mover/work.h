// Declared work, from vramspanWorkBegin to the moment the GPU has finished it.
#ifndef VRAMSPAN_RUNTIME_MOVER_WORK_H_
#define VRAMSPAN_RUNTIME_MOVER_WORK_H_

#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/placement/kernel_history.h"
#include "runtime/placement/reuse.h"
#include "runtime/scheduler/awaited_fetches.h"

namespace vramspan {

struct StreamState;

// What work does with a piece of memory.
struct Use {
  bool write = true;
  // Only kernels touch it. The driver looks up what copies and fills name when they are submitted,
  // and refuses what is not mapped just then; a kernel's arguments it never looks at.
  bool kernels_only = false;
  // Each byte is touched once at most: served in place, never fetched for this work.
  bool in_place = false;
  bool possible = false;     // May be touched, but most likely is not. With `in_place`.
  bool mapped_only = false;  // And it may move all the same, but must be mapped. With `possible`.
  // Nobody named it: what is named is thought to go so far. Of a range: all but where it begins.
  bool guessed = false;
  uint16_t slot = LaunchSample::kSeveral;  // The argument of a kernel that names it.

  // For memory that is named twice.
  void Add(const Use& other) {
    write |= other.write;
    kernels_only &= other.kernels_only;
    in_place &= other.in_place;
    if (possible) slot = other.slot;
    // Kernels often hold a pointer several times over.
    if (!other.possible) slot = std::min(slot, other.slot);
    possible &= other.possible;
    mapped_only &= other.mapped_only;
    guessed &= other.guessed;
  }
};

// What is known of the memory that work touches.
enum class Access : uint8_t {
  kExact,    // Its ranges and no other: what they do not name may move while it runs.
  kPartial,  // Its ranges, and perhaps more: they are fetched, and nothing moves while it runs.
  kUnknown,  // It waits until nothing moves, and nothing moves while it runs.
};

struct Work {
  enum class Kind : uint8_t {
    kScope,     // GPU work of the program.
    kFetch,     // Nothing but the fetch of its chunks (prefetch to the device).
    kPin,       // The same, and its chunks are pinned when it is released with all of them there.
    kEvict,     // Nothing but the eviction of its chunks (prefetch to the host).
    kCaptured,  // Its memory is mapped while its scope is open, and that is all; never queued.
  };
  using Clock = std::chrono::steady_clock;

  uint64_t id = 0;
  Kind kind = Kind::kScope;
  Access access = Access::kExact;
  uint64_t thread = 0;  // That submitted it.
  uint64_t tag = 0;     // What the listener knows it by; 0: nothing.
  uint64_t kernel = 0;  // What the history knows it by; 0: not a kernel that was seen.
  // By its kernel and what it most likely touches, wherever that is: what the forecast knows it by;
  // 0: nothing.
  uint64_t signature = 0;
  Reuse::Set soon;             // What others needed soon after the last of it.
  bool tried = false;          // Looked at for a trial; see Mover::TryInPlace.
  bool run_in_place = false;   // Is released with its memory wherever it is.
  bool held = false;           // Waits in the queue.
  bool counted = false;        // Chunks may count it; see Mover::CountIn.
  bool in_submission = false;  // Held, and its thread is between Begin and End.
  bool released = false;
  bool timed = false;             // Its end is to be seen when it comes.
  bool ended = false;             // End was called; `end` tells when the GPU is done (none: it is).
  bool pinned = false;            // What came of a kPin.
  bool needs_arrival = false;     // Some chunk's earlier users are not known; see `arrival`.
  StreamState* stream = nullptr;  // None for work that the host waits for.
  uint32_t hold = 0;              // The value its stream's flag must reach.
  // Marks in its stream. Before the hold, where some chunk's earlier users are not known: once the
  // stream has come this far, whatever the program did to the memory before is done. And behind it.
  std::optional<uint32_t> arrival;
  std::optional<uint32_t> end;
  Clock::time_point begun, released_at;
  AwaitedFetch awaited;                      // It waits for chunks to get a mapping,
  std::vector<ChunkIndex> fetch_for_others;  // and for these to be fetched instead.
  LaunchSample sample;                       // What was served in place when it was released.
  std::vector<ChunkIndex> chunks;  // Each once; those that are to be on the device come first.
  size_t wanted = 0;               // How many these are.
  std::vector<Use> uses;           // By position in chunks.
  // Fingerprints that may be taken behind it, and where they will be. Which are, is said when it is
  // released.
  struct Fingerprint {
    ChunkIndex chunk;
    uint32_t slot;
  };
  std::vector<Fingerprint> fingerprints;
  size_t held_fingerprints = 0;  // While it is held: launches that take them.

  // Nothing may move while it runs: it may touch any memory.
  bool barrier() const { return access != Access::kExact; }

  void Reset() {
    kind = Kind::kScope;
    access = Access::kExact;
    thread = tag = kernel = signature = 0;
    sample = {};
    soon = {};
    tried = run_in_place = held = counted = in_submission = released = timed = ended = pinned =
        needs_arrival = false;
    stream = nullptr;
    hold = 0;
    awaited = {};
    fetch_for_others.clear();
    arrival.reset();
    end.reset();
    chunks.clear();
    wanted = 0;
    uses.clear();
    fingerprints.clear();
    held_fingerprints = 0;
  }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_WORK_H_
