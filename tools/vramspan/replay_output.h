// What `vramspan replay` prints.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_OUTPUT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_OUTPUT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/replay/curves.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/replay_result.h"
#include "tools/replay/rounds.h"
#include "tools/vramspan/replay_options.h"

namespace vramspan::replay {

// One trace and what its replays came to; `percents` by result.
struct ReplayedTrace {
  ReplayedTrace(std::string file_name, RecordedRun recorded)
      : file(std::move(file_name)), run(std::move(recorded)), phases(run) {}

  std::string file;
  RecordedRun run;
  Phases phases;
  std::vector<ReplayResult> results;
  std::vector<std::optional<double>> percents;
  std::vector<Curve> curves;
};

// `prices`: where they come from.
std::string ReplayTable(const std::vector<ReplayedTrace>& traces, const std::string& prices);
std::string ReplayCsv(const std::vector<ReplayedTrace>& traces);
// With "trace" for the first and, of several, "traces" for all.
std::string ReplayJson(const std::vector<ReplayedTrace>& traces, const PricesOfDevice& prices);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_REPLAY_OUTPUT_H_
