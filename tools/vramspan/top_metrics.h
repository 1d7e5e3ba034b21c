// The rows of `vramspan top` as Prometheus reads them.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_TOP_METRICS_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_TOP_METRICS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/vramspan/top_rows.h"

namespace vramspan::top {

// What its files begin with.
inline constexpr std::string_view kMetricsMark = "# Written by vramspan top.\n";

// `since_1970`: seconds, now.
std::string Metrics(const std::vector<Row>& rows, double since_1970);

}  // namespace vramspan::top

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_TOP_METRICS_H_
