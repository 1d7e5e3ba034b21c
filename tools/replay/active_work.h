// A recorded piece of work from its submission to the moment the mover knows of its end.
#ifndef VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_
#define VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_

#include <absl/types/span.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/placement/kernel_history.h"
#include "runtime/placement/reuse.h"
#include "runtime/scheduler/awaited_fetches.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/run_recorder.h"

namespace vramspan::replay {

// Time up to some moment by what the mover was doing while it held work.
struct HeldTime {
  uint64_t copy = 0, vmm = 0, drain = 0;
};

// A plan looks at a hundred of them, so what it needs comes first and is one cache line.
struct alignas(64) ActiveWork {
  // As the runtime's Access: its ranges and no other; those and who knows what; anything.
  enum class Access : uint8_t { kExact, kPartial, kUnknown };

  uint32_t work = 0;
  uint32_t set = 0;
  uint32_t code = 0;
  Access access = Access::kExact;
  uint64_t kernel = 0;  // What the history knows it by; 0: nothing is learnt from it.
  bool held = false, released = false, started = false;
  bool timed = false;  // Its end is to be seen when it comes.
  bool tried = false, run_in_place = false;
  bool ready_known = false;
  bool listed = false;    // The mover knows of it as released,
  bool finished = false;  // and of its end.
  // What is to be on the device, in order: all of the set, or a part of it in `part`.
  absl::Span<const ChunkIndex> wanted;
  uint64_t version = 0;  // Of `wanted`, as QueuedWork has it.

  absl::Span<const ChunkUse> uses;
  // By position in uses: served where it lies. Empty: none is.
  std::vector<uint8_t> served;
  std::vector<ChunkIndex> part;
  // What it may touch beside that.
  absl::Span<const ChunkIndex> possible;

  uint64_t submitted = 0;
  uint64_t ready = 0;      // When it could have started, had it not been held.
  uint64_t may_start = 0;  // Not before; once released.
  uint64_t duration = 0;
  uint64_t start = 0, end = 0;
  HeldTime submitted_at, ready_at, released_at;
  uint64_t released_time = 0;
  AwaitedFetch awaited;                      // It waits for chunks to get a mapping,
  std::vector<ChunkIndex> fetch_for_others;  // and for these to be fetched instead.
  uint64_t signature = 0;                    // What the forecast knows it by; 0: nothing.
  Reuse::Set soon;                           // What others needed soon after the last of it.
  LaunchSample sample;
  RunRecorder::Launch launch;

  // As new, but for the memory that its vectors have.
  void Renew() {
    const auto emptied = []<typename T>(std::vector<T>* all) {
      all->clear();
      return std::move(*all);
    };
    std::vector<uint8_t> no_served = emptied(&served);
    std::vector<ChunkIndex> no_part = emptied(&part);
    std::vector<ChunkIndex> no_fetches = emptied(&fetch_for_others);
    *this = ActiveWork();
    served = std::move(no_served);
    part = std::move(no_part);
    fetch_for_others = std::move(no_fetches);
  }
  // Nothing may move while it runs.
  bool barrier() const { return access != Access::kExact; }
  bool serves(size_t use) const { return !served.empty() && served[use] != 0; }
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_ACTIVE_WORK_H_
