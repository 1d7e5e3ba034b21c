// The report: one HTML page that stands on its own, made of what `vramspan replay --format json`
// prints. The page has its data once, as JSON; its script (report_page/) draws from that.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_H_

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "runtime/base/status.h"

namespace vramspan::replay {

// InvalidArgument names the field of `replay` that is wrong; nothing is written then. An empty
// title becomes the name of the trace. Whether `out` took it all is for the caller to see.
Status WriteReport(const nlohmann::json& replay, const std::string& title, std::ostream& out);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_H_
