// Many replays of one recorded run, on as many threads as there are: every policy with every size
// of chunk at every budget.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPLAY_ALL_H_
#define VRAMSPAN_TOOLS_REPLAY_REPLAY_ALL_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <vector>

#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_prices.h"
#include "tools/replay/replay_result.h"

namespace vramspan::replay {

// The results in the order of the settings, the same whatever the number of threads. `progress` is
// called with how many are done, on any of them, one call at a time.
// REQUIRES: what LoadRun promises of the run; policies that exist; threads >= 1.
std::vector<ReplayResult> ReplayAll(const RecordedRun& run, const ReplayPrices& prices,
                                    absl::Span<const ReplaySetting> settings, unsigned threads,
                                    absl::FunctionRef<void(size_t done)> progress);

// Nanoseconds that the run takes with all its memory on the device.
uint64_t ResidentTime(const RecordedRun& run, const ReplayPrices& prices);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPLAY_ALL_H_
