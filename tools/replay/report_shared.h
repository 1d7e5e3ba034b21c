// The part of a report that is of several programs on one device: what `vramspan replay --broker`
// printed, checked and thinned for the page.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_SHARED_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_SHARED_H_

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/status.h"

namespace vramspan::replay {

// It says of itself that it is such a replay.
bool IsSharedReplay(const nlohmann::json& replay);

struct SharedReport {
  nlohmann::json runs;  // As report_page/shared.js takes them.
  std::string prices;   // Where they come from.
  std::string title;    // Of its programs.
};

// InvalidArgument names the field that is wrong.
StatusOr<SharedReport> ReadSharedReport(const nlohmann::json& replay);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_SHARED_H_
