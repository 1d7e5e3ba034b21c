// Takes from plots what nobody would see, so that the page stays small.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_THIN_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_THIN_H_

#include <cstddef>
#include <vector>

#include "tools/replay/report_data.h"

namespace vramspan::replay {

// At most `most` (2 or more) of the points, first and last among them, chosen so that the line's
// shape stays (largest triangle three buckets, Steinarsson 2013).
std::vector<ReportCurve::Point> ThinCurve(const std::vector<ReportCurve::Point>& points,
                                          size_t most);

// Joins bins until there are at most `most`: means of what is a state, sums of what is counted.
ReportTimeline ThinTimeline(const ReportTimeline& timeline, size_t most);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_THIN_H_
