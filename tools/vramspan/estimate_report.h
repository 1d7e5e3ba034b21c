// What `vramspan estimate` finds out, and how it is printed.
#ifndef VRAMSPAN_TOOLS_VRAMSPAN_ESTIMATE_REPORT_H_
#define VRAMSPAN_TOOLS_VRAMSPAN_ESTIMATE_REPORT_H_

#include <optional>
#include <string>
#include <vector>

#include "runtime/base/units.h"
#include "tools/replay/recorded_run.h"
#include "tools/vramspan/cards.h"
#include "tools/vramspan/replay_options.h"

namespace vramspan::estimate {

struct Row {
  std::string where;  // "here", or a card's name.
  Bytes device_memory;
  std::optional<double> percent;  // Of the peak, where it was asked for so.
  double link_gb_per_s = 0;
  Bytes spills;         // Of the peak, what does not fit.
  double slowdown = 1;  // Of a round where the run has rounds, else of all of it.
};

struct Report {
  std::string program;
  std::string device;  // That the run was recorded on.
  std::string prices;  // Where those of "here" come from.
  Bytes peak;
  double seconds = 0;
  size_t rounds = 0;  // 0: none were found.
  std::vector<Row> rows;
};

struct Question {
  std::vector<replay::Budget> budgets;  // Here.
  std::vector<cards::Card> cards;
  std::optional<double> link_gb_per_s;  // Of the cards, instead of the table's.
  unsigned threads = 1;
};

// REQUIRES: the run has work.
StatusOr<Report> Estimate(const replay::RecordedRun& run, const Question& question);

std::string ToTable(const Report& report);
std::string ToJson(const Report& report);

}  // namespace vramspan::estimate

#endif  // VRAMSPAN_TOOLS_VRAMSPAN_ESTIMATE_REPORT_H_
