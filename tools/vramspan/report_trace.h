// What `vramspan report` replays when it is given a trace.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_REPORT_TRACE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_REPORT_TRACE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/status.h"

namespace vramspan::replay {

// All policies with three sizes of chunk at six budgets, timelines of those runs that the report
// speaks of, and the miss-ratio curves, as `vramspan replay --format json` would give them.
// `trace` is what LoadRun takes; errors name it. `prices` is a file or empty, as PricesFor takes
// it. Says on stderr how far it is.
StatusOr<nlohmann::json> ReplayForReport(const std::string& trace, const std::string& prices);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_REPORT_TRACE_H_
