// The sentences of a report: what the runs of one trace come to, and what to change. Every one is
// derived from the data alone, and one that the data cannot carry is left out.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPORT_ADVICE_H_
#define VRAMSPAN_TOOLS_REPLAY_REPORT_ADVICE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/replay/report_data.h"

namespace vramspan::replay {

struct Advice {
  std::string topic, text;
};

struct Findings {
  std::string headline;
  // The run that the headline is about: the best one at the budget nearest to half of the peak.
  std::optional<size_t> focus;
  std::vector<Advice> advice;
  std::string command;  // To run the program so; empty without a focus.
};

Findings FindingsOf(const ReportCase& one);

// "within 5 %" is full speed.
inline constexpr double kFits = 1.05;

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPORT_ADVICE_H_
