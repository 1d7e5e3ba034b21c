// A recorded piece of work from its submission to the moment the mover knows of its end.
#ifndef VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_
#define VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/scheduler/stalls.h"
#include "runtime/scheduler/work.h"
#include "tools/replay/run_recorder.h"

namespace vramspan::replay {

// Virtual time, as decisions have it.
inline Instant InstantOf(uint64_t ns) { return Instant(Duration(static_cast<int64_t>(ns))); }
inline uint64_t NanosecondsOf(Instant t) {
  return static_cast<uint64_t>(t.time_since_epoch().count());
}

struct ActiveWork : Work {
  uint32_t work = 0;  // The recorded; `id` is one more.
  uint32_t set = 0;
  bool started = false;
  bool ready_known = false;
  bool seen = false;  // The scheduler knows of it.

  uint64_t came = 0;       // When it was submitted.
  uint64_t ready = 0;      // When it could have started, had it not been held.
  uint64_t may_start = 0;  // Not before; once released.
  uint64_t duration = 0;
  uint64_t behind = 0;  // What fingerprints behind it take of its stream.
  uint64_t start = 0, end = 0;
  Stalls at_submission, at_ready, at_release;  // Of all work by then.
  RunRecorder::Launch launch;
  std::vector<ChunkUse> all;  // What it uses, where some of that was left out.

  // As new, but for the memory that its vectors have.
  void Renew() {
    ActiveWork fresh;
    fresh.TakeVectors(this);
    all.clear();
    fresh.all = std::move(all);
    *this = std::move(fresh);
  }
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_
