// A recorded piece of work from its submission to the moment the mover knows of its end.
#ifndef VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_
#define VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_

#include <cstdint>
#include <utility>

#include "runtime/scheduler/work.h"
#include "tools/replay/run_recorder.h"

namespace vramspan::replay {

// Time up to some moment by what the mover was doing while it held work.
struct HeldTime {
  uint64_t copy = 0, vmm = 0, drain = 0;
};

struct ActiveWork : Work {
  uint32_t work = 0;  // The recorded; `id` is the same.
  uint32_t set = 0;
  uint32_t code = 0;
  bool started = false;
  bool ready_known = false;
  bool listed = false;  // The mover knows of it as released.

  uint64_t submitted = 0;
  uint64_t ready = 0;      // When it could have started, had it not been held.
  uint64_t may_start = 0;  // Not before; once released.
  uint64_t duration = 0;
  uint64_t start = 0, end = 0;
  HeldTime held_at_submission, held_at_ready, held_at_release;
  RunRecorder::Launch launch;

  // As new, but for the memory that its vectors have.
  void Renew() {
    ActiveWork fresh;
    fresh.TakeVectors(this);
    *this = std::move(fresh);
  }
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_
