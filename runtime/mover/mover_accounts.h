// What the mover counts, and the first of its failures.
#ifndef VRAMSPAN_RUNTIME_MOVER_MOVER_ACCOUNTS_H_
#define VRAMSPAN_RUNTIME_MOVER_MOVER_ACCOUNTS_H_

#include <array>
#include <cstdint>
#include <string>

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/scheduler/action.h"

namespace vramspan {

// What the mover's thread is busy with.
struct MoverTimes {
  uint64_t decide_ns = 0, begin_ns = 0, remap_ns = 0, map_ns = 0;

  // Where what the action takes is counted.
  uint64_t& Of(Action::Kind kind) {
    switch (kind) {
      case Action::Kind::kNothing:
      case Action::Kind::kRelease:
        return decide_ns;
      case Action::Kind::kEvict:
      case Action::Kind::kFetch:
        return begin_ns;
      case Action::Kind::kMapOnHost:
        return map_ns;
      default:
        return remap_ns;
    }
  }
};

// Moves that have ended well, in all.
struct MovesMade {
  uint64_t chunks = 0;
  Bytes bytes;
};

struct MoverStatistics {
  uint64_t works = 0, works_held = 0, works_in_place = 0, deadlines = 0;
  Bytes bytes_in, bytes_out, bytes_out_clean;
  uint64_t fetches = 0, evictions = 0, remaps = 0, moves_failed = 0;
  uint64_t hold_ns = 0, vmm_ns = 0, copy_in_ns = 0, copy_out_ns = 0;
  uint64_t unsettled_streams = 0;
  uint64_t rests = 0;     // How often recording ended, since all was on the device again.
  Bytes bytes_in_place;   // Served from host memory to work, as far as it names what it uses.
  uint64_t returned = 0;  // Chunks that came back though nothing asked for them.
  uint64_t stall_drain_ns = 0, stall_copy_ns = 0, stall_vmm_ns = 0;
  uint64_t forecast_hits = 0, forecast_misses = 0;
  uint64_t trials = 0;          // Chunks left on the host to see what that costs.
  uint64_t fetches_unused = 0;  // Evicted again before any work had used them.
  MoverTimes times;
  std::array<MovesMade, kMoveCauses> made;  // By MoveCause.
};

// What the program's work does now.
struct WorkState {
  uint64_t works = 0;  // So many pieces came, about.
  // Some is submitted, and is not known to have ended. While work is not recorded: some came since
  // the last look, or a thread waits for some.
  bool runs = false;
  bool waits = false;  // A thread waits until it may submit some (Mover::HoldWork).
};

// Guarded by the memory lock.
struct MoverAccounts {
  MoverStatistics stats;
  Status error;  // The first that nobody has taken.

  void Record(const Status& status) {
    if (!error.ok() || status.ok()) return;
    error = status;
    Log(LogLevel::kError, std::string(status.message()));
  }
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_MOVER_ACCOUNTS_H_
