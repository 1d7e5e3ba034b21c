// `vramspan info --format issue`: what a report of a fault needs, and nothing that tells who sends
// it.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_INFO_ISSUE_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_INFO_ISSUE_H_

#include <string>

#include "tools/vramspan/info_report.h"

namespace vramspan::info {

// A block for an issue on the web. No names of users, hosts and folders of users, no id of a
// device, and of the environment only the names of vramspan's variables.
std::string ToIssue(const Report& report);
// Where there is no report: of the host, and why.
std::string ToIssue(const Status& why);

}  // namespace vramspan::info

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_INFO_ISSUE_H_
