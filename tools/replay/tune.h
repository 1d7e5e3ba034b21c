// Searches for the settings under which recorded runs would take least, and makes a profile of
// them.
//
// First every size of chunk with the default policy, under each way to overlap that is allowed;
// then every policy with the best two of those, then the chosen one with part of its memory kept on
// the device. What is no better than the default by three hundredths is not chosen: predictions are
// not that good, and the default is what is tested most. Chunks of one size for all must be better
// by a tenth: replays are less right about those. Nor is anything kept for less than three
// hundredths of what was chosen without. Of a run that repeats itself (rounds.h) it is the median
// round of each phase that counts.
#ifndef VRAMSPAN_TOOLS_REPLAY_TUNE_H_
#define VRAMSPAN_TOOLS_REPLAY_TUNE_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <vector>

#include "tools/replay/profile.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_prices.h"
#include "tools/replay/replay_result.h"

namespace vramspan::replay {

struct TuneOptions {
  Bytes device_memory;
  std::vector<ReplayOverlap> overlaps;  // The first is the default's.
  unsigned threads = 1;
};

struct TuneCandidate {
  ReplaySetting setting;
  uint64_t predicted = 0;  // Nanoseconds, over all runs,
  uint64_t rounds = 0;     // and over the median round of each that has rounds.
  // Against all memory on the device, of all phases' rounds or else the whole run; of several runs
  // their geometric mean.
  double slowdown = 0;
};

struct Tuned {
  std::vector<TuneCandidate> candidates;  // Best first.
  TuneCandidate chosen, by_default;
  uint64_t resident = 0;
  Profile profile;
};

// `progress` is called with how many replays are done, of about how many. The same whatever the
// number of threads. REQUIRES: at least one run, as LoadRun gives them; at least one overlap.
Tuned Tune(absl::Span<const RecordedRun> runs, const ReplayPrices& prices,
           const TuneOptions& options, absl::FunctionRef<void(size_t done, size_t all)> progress);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TUNE_H_
