// What `vramspan info` comes to, in one line that can be pasted.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_INFO_VERDICT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_INFO_VERDICT_H_

#include <string>

#include "tools/vramspan/info_report.h"

namespace vramspan::info {

// No "verdict: " before it, no line's end behind it.
std::string Verdict(const Report& report);

}  // namespace vramspan::info

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_INFO_VERDICT_H_
