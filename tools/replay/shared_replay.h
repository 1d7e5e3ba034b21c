// Several recorded programs on one device, whose memory a broker shares among them, in virtual
// time: the broker's own core, the runtime's own lease and scheduler.
//
// What they share beside memory:
//  - The bus. Those that copy the same way at once get the same of it (measured: two that copy both
//    ways get 24.5 and 23.2 of an H100's GB/s).
//  - Time for kernels. Where n programs have kernels that run, each gets kTimeShared / n of the
//    time. Measured is n = 2: 46 % each. A device gives slices of milliseconds; here time is shared
//    without slices. So programs whose kernels have gaps far shorter than that come out too fast.
// Where the broker has them work by turns, who has none submits nothing that is recorded, as a
// runtime does. What it has submitted goes on.
//
// Calls on mappings take longer beside another's copies (ReplayPrices::beside_others).
// What is not modelled: contexts, room for them and the reserve; host memory has no end; copies of
// one program do not slow another's kernels (measured: 2 %). Messages take no time.
//
// Deterministic. Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_SHARED_REPLAY_H_
#define VRAMSPAN_TOOLS_REPLAY_SHARED_REPLAY_H_

#include <absl/types/span.h>

#include <vector>

#include "runtime/base/status.h"
#include "tools/broker/core/policy.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_prices.h"
#include "tools/replay/replay_result.h"
#include "tools/replay/timing.h"

namespace vramspan::replay {

// Of the device's time where several programs have kernels: 2 x 46 % on an H100 (2026-11-25).
inline constexpr double kTimeShared = 0.92;

struct SharedProgram {
  const RecordedRun* run = nullptr;
  const Timing* timing = nullptr;
  ReplaySetting setting;  // Its device memory does not count.
  broker::Policy policy;
  uint64_t start = 0;
};

struct TenantResult {
  uint64_t end = 0;
  ReplayResult result;
  double mean_grant = 0;     // Bytes, while it ran.
  Bytes last_grant;          // When it ended.
  Bytes out_recalled;        // Of bytes_out: while a recall was open, up to what was recalled.
  uint64_t recalls = 0;      // Of device memory,
  uint64_t recall_time = 0;  // and how long they took to be answered.
  uint64_t fetch_turns = 0;
  uint64_t gpu_turns = 0;      // How often it worked while the others held their work,
  uint64_t gpu_turn_time = 0;  // and how long in all.

  uint64_t took(const SharedProgram& program) const { return end - program.start; }
};

struct ShareSample {
  uint64_t time = 0;
  std::vector<Bytes> grants;  // By program; 0 for who is not there.
};

// One program works, and the others hold their work.
struct GpuTurnSpan {
  uint64_t from = 0, to = 0;
  size_t tenant = 0;
};

struct SharedResult {
  std::vector<TenantResult> tenants;
  uint64_t makespan = 0;  // From 0 to the last end.
  // Jain's index of what each has of what it is due, at most all of it; the mean over the time with
  // two programs or more. 1 where there is none.
  double fairness = 1;
  std::vector<ShareSample> shares;  // At each change.
  std::vector<GpuTurnSpan> turns;   // In order. Between two of them there may be none.
};

struct SharedOptions {
  bool turns = true;  // Where they help: the broker decides.
};

// InvalidArgument: the broker takes no such tenant; it names the program by its index and why.
// Internal: time stands still, as it never should (standstill.h).
// REQUIRES: what LoadRun promises of each run; policies that exist, none of them kMinPolicy.
StatusOr<SharedResult> ReplayShared(absl::Span<const SharedProgram> programs,
                                    const ReplayPrices& prices, Bytes device_memory,
                                    const SharedOptions& options = {});

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SHARED_REPLAY_H_
