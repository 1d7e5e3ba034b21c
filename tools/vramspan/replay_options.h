// The command line of `vramspan replay`, before and after it is checked.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_OPTIONS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_OPTIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_prices.h"
#include "tools/replay/replay_result.h"

namespace vramspan::replay {

// Errors name the option and what is allowed.
StatusOr<std::vector<std::string>> ParsePolicies(const std::string& text);
StatusOr<std::vector<int>> ParseChunks(const std::string& text);  // Log2 sizes; 0 for auto.
StatusOr<ReplayOverlap> ParseReplayOverlap(const std::string& text);
// A list of them: as `asked`, else as recorded, else the default.
StatusOr<std::vector<ReplayOverlap>> OverlapsFor(const std::string& asked, const RecordedRun& run);
// What is to be said where the recording does not tell what one of them needs; else nothing. Nor
// where nobody named one: what was imported was not trusted or otherwise.
std::vector<std::string> TrustNotes(const std::string& asked,
                                    const std::vector<ReplayOverlap>& overlaps,
                                    const RecordedRun& run);

struct Budget {
  Bytes bytes;
  std::optional<double> percent;  // Of the run's peak, where it was given so.
};
// "25%,50%,8GiB" for a run whose most memory at once is `peak`.
StatusOr<std::vector<Budget>> ParseBudgets(const std::string& text, Bytes peak);

// A file that `vramspan info` has written into its cache, of any device and driver, or what it
// prints as JSON, of which the device with this id counts, or the only one. Errors name the file.
StatusOr<ReplayPrices> ReadReplayPrices(const std::string& path, const std::string& uuid);

struct PricesOfDevice {
  ReplayPrices prices;
  std::string source;  // For people: where they come from.
};
// Those in the file; without one, those that `vramspan info` keeps on this machine of the device
// that the run was recorded on; where it keeps none, an H100's. A file of its cache that cannot be
// read is left out with a warning.
StatusOr<PricesOfDevice> PricesFor(const std::string& path, const RecordedRun& run);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_OPTIONS_H_
