// The parts of the table that `vramspan info` prints.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_INFO_FORMAT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_INFO_FORMAT_H_

#include <string>

#include "tools/vramspan/info_report.h"

namespace vramspan::info {

// Each appends whole lines.
void Line(std::string* out, const char* label, const std::string& text);
void DriverLines(std::string* out, const Report& report);
void DeviceTable(std::string* out, const DeviceReport& d);

}  // namespace vramspan::info

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_INFO_FORMAT_H_
