// What the scheduler wants done, and what it is told of the world.
//
// Pure: plain values.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_ACTION_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_ACTION_H_

#include "runtime/base/units.h"
#include "runtime/scheduler/chunk_move.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

// How things stand at a moment, as whoever owns the memory and the streams sees it.
struct Moment {
  Instant now;
  Bytes budget;  // Device memory,
  Bytes used;
  Bytes available;            // and what of it may be filled right away.
  bool host_has_room = true;  // For copies of what is on the device.
  bool draining = false;      // Traced work from before tracking runs: its chunks' users come to be
                              // known.
  bool follows_writers = false;  // Fingerprints behind work tell what it leaves in a chunk.
};

struct Action {
  enum class Kind : uint8_t {
    kNothing,    // Before something happens, or the time that Scheduler::Due names comes.
    kRelease,    // Let `work` go, and say so with Released.
    kEvict,      // Begin to copy the chunk of `move` out: Started, and Copied; or Refused.
    kFetch,      // Begin to copy it in, `ahead` behind a mapping: the same.
    kRemap,      // Change its mapping, as BeginRemap says, and tell Remapped what came of it.
    kMend,       // Its mapping is lost: map either memory, or unmap what was mapped ahead.
    kUnmap,      // Unmap what was mapped ahead, and tell Unmapped what came of it.
    kGiveUp,     // It has failed: give back what was taken for it, and say so with GiveUp.
    kDetach,     // Its copy may never end: say so with Detach, and keep what the copy uses.
    kMapOnHost,  // Map `chunk` on the host, and tell MappedOnHost what came of it.
  };
  Kind kind = Kind::kNothing;
  Work* work = nullptr;
  ChunkMove* move = nullptr;
  ChunkIndex chunk = {};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_ACTION_H_
