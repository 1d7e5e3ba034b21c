// Declared work, from vramspanWorkBegin to the moment the GPU has finished it.
#ifndef VRAMSPAN_RUNTIME_MOVER_WORK_H_
#define VRAMSPAN_RUNTIME_MOVER_WORK_H_

#include <cuda.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

struct StreamState;

// What work does with a piece of memory.
struct Use {
  bool write = true;
  // Only kernels touch it. The driver looks up what copies and fills name when they are submitted,
  // and refuses what is not mapped just then; a kernel's arguments it never looks at.
  bool kernels_only = false;
  bool once = false;  // Each byte at most once: served where it lies, never fetched for this work.

  // For memory that is named twice.
  void Add(const Use& other) {
    write |= other.write;
    kernels_only &= other.kernels_only;
    once &= other.once;
  }
};

struct Work {
  enum class Kind : uint8_t {
    kScope,  // GPU work of the program.
    kFetch,  // Nothing but the fetch of its chunks (prefetch to the device).
    kPin,    // The same, and its chunks are pinned when it is released with all of them there.
    kEvict,  // Nothing but the eviction of its chunks (prefetch to the host).
  };
  using Clock = std::chrono::steady_clock;

  uint64_t id = 0;
  Kind kind = Kind::kScope;
  bool unknown = false;  // Touches memory that nobody declared: nothing may move while it runs.
  bool gave_up = false;  // Is released with its memory wherever it is.
  bool held = false;     // Waits in the queue.
  bool open = false;     // Held, and its thread is between Begin and End.
  bool released = false;
  bool ended = false;             // End was called; `end` tells when the GPU is done (none: it is).
  bool pinned = false;            // What came of a kPin.
  bool needs_arrival = false;     // Some chunk's earlier users are not known; see `arrival`.
  StreamState* stream = nullptr;  // None for work that the host waits for.
  uint32_t hold = 0;              // The value its stream's flag must reach.
  // Marks in its stream. Before the hold, where some chunk's earlier users are not known: once the
  // stream has come this far, whatever the program did to the memory before is done. And behind it.
  std::optional<uint32_t> arrival;
  std::optional<uint32_t> end;
  Clock::time_point begun;
  std::vector<ChunkIndex> chunks;  // Each once; those that are to be on the device come first.
  size_t wanted = 0;               // How many these are.
  std::vector<Use> uses;           // By position in chunks.

  void Reset() {
    kind = Kind::kScope;
    unknown = gave_up = held = open = released = ended = pinned = needs_arrival = false;
    stream = nullptr;
    hold = 0;
    arrival.reset();
    end.reset();
    chunks.clear();
    wanted = 0;
    uses.clear();
  }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_WORK_H_
