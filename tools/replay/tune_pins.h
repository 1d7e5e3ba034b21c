// Which allocations of a recorded run may be worth keeping on the device, for tune to try.
#ifndef VRAMSPAN_TOOLS_REPLAY_TUNE_PINS_H_
#define VRAMSPAN_TOOLS_REPLAY_TUNE_PINS_H_

#include <vector>

#include "runtime/placement/pins.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_prices.h"
#include "tools/replay/replay_result.h"

namespace vramspan::replay {

// Several choices, each of at most half the device memory: of what the run with this setting
// brought back to the device, what is used again soonest, as much as fits. None where the record
// does not tell an allocation's place among those of its size: it has gaps, or it is another
// program's.
std::vector<std::vector<Pin>> PinsToTry(const RecordedRun& run, const ReplayPrices& prices,
                                        const ReplaySetting& setting);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TUNE_PINS_H_
