#include "tools/vramspan/report_trace.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "tools/replay/curves.h"
#include "tools/replay/load_run.h"
#include "tools/replay/replay_all.h"
#include "tools/replay/report_advice.h"
#include "tools/replay/report_data.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/replay_output.h"
#include "tools/vramspan/replay_progress.h"

namespace vramspan::replay {
namespace {

constexpr const char* kBudgets = "25%,37.5%,50%,62.5%,75%,100%";
constexpr const char* kPolicies = "all";
constexpr const char* kChunks = "auto,8MiB,32MiB";

unsigned Threads() { return std::max(1u, std::thread::hardware_concurrency()); }

Status AddSettings(ReplayedTrace* trace, std::vector<ReplaySetting>* settings) {
  VS_ASSIGN_OR_RETURN(const std::vector<ReplayOverlap> overlaps, OverlapsFor("", trace->run));
  SayProblems(trace->file, TrustNotes("", overlaps, trace->run));
  VS_ASSIGN_OR_RETURN(const std::vector<std::string> policies, ParsePolicies(kPolicies));
  VS_ASSIGN_OR_RETURN(const std::vector<int> chunks, ParseChunks(kChunks));
  VS_ASSIGN_OR_RETURN(const std::vector<Budget> budgets,
                      ParseBudgets(kBudgets, trace->run.PeakBytes()));
  for (const Budget& budget : budgets) {
    for (const int chunk : chunks) {
      for (const std::string& policy : policies) {
        settings->push_back({.policy = policy,
                             .device_memory = budget.bytes,
                             .chunk_log2 = chunk,
                             .overlap = overlaps.front()});
        trace->percents.push_back(budget.percent);
      }
    }
  }
  return absl::OkStatus();
}

// The results that a report speaks of: its focus, and the same policy and chunks at other budgets.
StatusOr<std::vector<size_t>> SpokenOf(const ReplayedTrace& trace, const nlohmann::json& replay) {
  std::vector<size_t> spoken;
  VS_ASSIGN_OR_RETURN(const ReportData data, ReadReportData(replay));
  const Findings findings = FindingsOf(data.cases.front());
  if (!findings.focus) return spoken;
  const ReplaySetting& focus = trace.results[*findings.focus].setting;
  for (size_t i = 0; i < trace.results.size(); ++i) {
    const ReplaySetting& setting = trace.results[i].setting;
    if (setting.policy == focus.policy && setting.chunk_log2 == focus.chunk_log2) {
      spoken.push_back(i);
    }
  }
  return spoken;
}

nlohmann::json AsJson(const std::vector<ReplayedTrace>& traces, const PricesOfDevice& prices) {
  return nlohmann::json::parse(ReplayJson(traces, prices));
}

// Timelines are dear in memory, so only few runs get one, in a second pass.
Status AddTimelines(const PricesOfDevice& prices, std::vector<ReplayedTrace>* traces) {
  ReplayedTrace& trace = traces->front();
  VS_ASSIGN_OR_RETURN(const std::vector<size_t> spoken, SpokenOf(trace, AsJson(*traces, prices)));
  std::vector<ReplaySetting> settings;
  for (const size_t i : spoken) {
    settings.push_back(trace.results[i].setting);
    settings.back().timeline = true;
  }
  Progress progress(trace.file + ": timelines", settings.size());
  std::vector<ReplayResult> again = ReplayAll(trace.run, prices.prices, settings, Threads(),
                                              [&](size_t done) { progress(done); });
  for (size_t i = 0; i < spoken.size(); ++i) trace.results[spoken[i]] = std::move(again[i]);
  return absl::OkStatus();
}

}  // namespace

StatusOr<nlohmann::json> ReplayForReport(const std::string& trace, const std::string& prices_file) {
  VS_ASSIGN_OR_RETURN(RecordedRun run, LoadRun(trace));
  SayProblems(trace, run.notes);
  SayProblems(trace, run.problems);
  VS_ASSIGN_OR_RETURN(const PricesOfDevice prices, PricesFor(prices_file, run));
  if (run.works.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(trace, ": the trace holds no work, so there is nothing to report"));
  }
  std::vector<ReplayedTrace> traces;
  ReplayedTrace& one = traces.emplace_back(trace, std::move(run));
  std::vector<ReplaySetting> settings;
  VS_RETURN_IF_ERROR(AddSettings(&one, &settings));
  Progress progress(trace, settings.size());
  one.results =
      ReplayAll(one.run, prices.prices, settings, Threads(), [&](size_t done) { progress(done); });
  VS_RETURN_IF_ERROR(AddTimelines(prices, &traces));
  CurveOptions options{.trace = trace, .policies = {}, .device_memory = {}, .progress = {}};
  options.progress = [&](double part) { progress.Curves(part); };
  VS_ASSIGN_OR_RETURN(options.chunk_log2, ParseChunks(kChunks));
  VS_ASSIGN_OR_RETURN(one.curves, MakeCurves(one.run, options));
  return AsJson(traces, prices);
}

}  // namespace vramspan::replay
