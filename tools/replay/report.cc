#include "tools/replay/report.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "runtime/base/clean_text.h"
#include "tools/replay/json_field.h"
#include "tools/replay/report_advice.h"
#include "tools/replay/report_data.h"
#include "tools/replay/report_page.h"
#include "tools/replay/report_shared.h"
#include "tools/replay/report_thin.h"

namespace vramspan::replay {
namespace {

using nlohmann::json;

constexpr size_t kCurvePoints = 200;
constexpr size_t kBins = 200;
constexpr size_t kStrips = 40;
constexpr size_t kTimelines = 24;
constexpr size_t kKernels = 20;
constexpr size_t kProblems = 50;
constexpr size_t kTitle = 200;

// Numbers of which a plot shows two digits need not take seventeen.
double Rounded(double value, double unit) { return std::round(value / unit) * unit; }

json OptionalJson(const std::optional<double>& value) {
  return value ? json(*value) : json(nullptr);
}

json ToJson(const ReportTimeline& full) {
  ReportTimeline timeline = ThinTimeline(full, kBins);
  auto& strips = timeline.allocations;
  std::stable_sort(strips.begin(), strips.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (strips.size() > kStrips) strips.resize(kStrips);
  json allocations = json::array();
  for (auto& strip : strips) {
    for (double& part : strip.resident) part = Rounded(std::min(part, 1.0), 1e-3);
    allocations.push_back(
        {{"name", strip.name}, {"bytes", strip.bytes}, {"resident", strip.resident}});
  }
  return {{"bins", timeline.bins},
          {"bin_ms", timeline.bin_ms},
          {"allocations", std::move(allocations)},
          {"left_out", full.allocations.size() - strips.size()},
          {"device_bytes", timeline.device_bytes},
          {"fetches", timeline.fetches},
          {"stall_ms", timeline.stall_ms}};
}

json ToJson(const ReportKernel& kernel) {
  return {{"name", kernel.name},
          {"why", kernel.why},
          {"launches", kernel.launches},
          {"resident_ms", kernel.resident_ms},
          {"predicted_ms", kernel.predicted_ms},
          {"stall_ms", kernel.stall_ms},
          {"bytes_in_place", kernel.bytes_in_place},
          {"fetches", kernel.fetches}};
}

json ToJson(const ReportRun& run) {
  json kernels = json::array();
  for (const ReportKernel& kernel : run.kernels) {
    if (kernels.size() < kKernels) kernels.push_back(ToJson(kernel));
  }
  return {{"policy", run.policy},
          {"budget", run.budget},
          {"percent", OptionalJson(run.percent)},
          {"chunk", run.chunk},
          {"predicted_ms", run.predicted_ms},
          {"resident_ms", run.resident_ms},
          {"slowdown", run.slowdown},
          {"round_ms", OptionalJson(run.round_ms)},
          {"resident_round_ms", OptionalJson(run.resident_round_ms)},
          {"stall_ms", run.stall_ms},
          {"stall_copy_ms", run.stall_copy_ms},
          {"stall_vmm_ms", run.stall_vmm_ms},
          {"stall_drain_ms", run.stall_drain_ms},
          {"fetches", run.fetches},
          {"bound_fetches", OptionalJson(run.bound_fetches)},
          {"moves_in", run.moves_in},
          {"moves_out", run.moves_out},
          {"served_in_place", run.served_in_place},
          {"bytes_in", run.bytes_in},
          {"bytes_out", run.bytes_out},
          {"bytes_in_place", run.bytes_in_place},
          {"kernels", std::move(kernels)}};
}

json ToJson(const ReportCurve& curve) {
  json points = json::array();
  for (const ReportCurve::Point& point : ThinCurve(curve.points, kCurvePoints)) {
    points.push_back({point.memory, point.miss_ratio, point.misses});
  }
  return {{"policy", curve.policy},     {"chunk", curve.chunk},
          {"accesses", curve.accesses}, {"distinct_bytes", curve.distinct_bytes},
          {"sampled", curve.sampled},   {"error", curve.error},
          {"points", std::move(points)}};
}

json ToJson(const std::vector<std::string>& sentences) {
  json list = json::array();
  for (const std::string& sentence : sentences) {
    if (list.size() < kProblems) list.push_back(sentence);
  }
  if (sentences.size() > kProblems) {
    list.push_back(absl::StrCat("and ", sentences.size() - kProblems, " more"));
  }
  return list;
}

json ToJson(const ReportTrace& trace) {
  return {{"file", trace.file},
          {"program", trace.program},
          {"device", trace.device},
          {"works", trace.works},
          {"kernels", trace.kernels},
          {"allocations", trace.allocations},
          {"peak_bytes", trace.peak_bytes},
          {"recorded_ms", trace.recorded_ms},
          {"estimated_times", trace.estimated_times},
          {"waits", OptionalJson(trace.waits)},
          {"waited_ms", OptionalJson(trace.waited_ms)},
          {"problems", ToJson(trace.problems)},
          {"notes", ToJson(trace.notes)}};
}

// Of more timelines than a page should hold, the focus's own and then the fastest runs'.
std::vector<size_t> KeptTimelines(const ReportCase& one, std::optional<size_t> focus) {
  std::vector<size_t> with;
  for (size_t i = 0; i < one.runs.size(); ++i) {
    if (one.runs[i].timeline) with.push_back(i);
  }
  std::stable_sort(with.begin(), with.end(), [&](size_t a, size_t b) {
    const auto rank = [&](size_t i) {
      return std::tuple(focus != i, one.runs[i].bound(), one.runs[i].slowdown);
    };
    return rank(a) < rank(b);
  });
  if (with.size() > kTimelines) with.resize(kTimelines);
  return with;
}

json ToJson(const ReportCase& one) {
  const Findings findings = FindingsOf(one);
  json advice = json::array();
  for (const Advice& entry : findings.advice) {
    advice.push_back({{"topic", entry.topic}, {"text", entry.text}});
  }
  json runs = json::array();
  for (const ReportRun& run : one.runs) runs.push_back(ToJson(run));
  for (const size_t i : KeptTimelines(one, findings.focus)) {
    runs[i]["timeline"] = ToJson(*one.runs[i].timeline);
  }
  json curves = json::array();
  for (const ReportCurve& curve : one.curves) curves.push_back(ToJson(curve));
  return {{"trace", ToJson(one.trace)},
          {"headline", findings.headline},
          {"command", findings.command},
          {"focus", findings.focus ? json(*findings.focus) : json(nullptr)},
          {"advice", std::move(advice)},
          {"runs", std::move(runs)},
          {"curves", std::move(curves)}};
}

// As a text in HTML, within an element or a quoted attribute.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// JSON in a script element: without a `<`, no text in it can end the element or begin a comment,
// and escaped so it is still the same JSON. All of it is ASCII.
std::string ScriptJson(const json& data) {
  std::string escaped;
  for (const char c : data.dump(-1, ' ', true)) {
    if (c == '<' || c == '>' || c == '&') {
      absl::StrAppendFormat(&escaped, "\\u%04x", c);
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void Fill(std::string_view page, const std::vector<std::pair<std::string, std::string_view>>& parts,
          std::ostream& out) {
  // One pass, so that a placeholder's name in what is filled in stays what it is.
  while (!page.empty()) {
    size_t first = std::string_view::npos;
    const std::pair<std::string, std::string_view>* next = nullptr;
    for (const auto& part : parts) {
      const size_t at = page.find(part.first);
      if (at < first) {
        first = at;
        next = &part;
      }
    }
    out << page.substr(0, first);
    if (next == nullptr) return;
    out << next->second;
    page.remove_prefix(first + next->first.size());
  }
}

std::string TitleOf(const ReportData& data, const std::string& title) {
  if (!title.empty()) return CleanText(title, kTitle);
  const std::string file = std::filesystem::path(data.cases.front().trace.file).filename().string();
  return data.cases.size() == 1 ? file
                                : absl::StrCat(file, " and ", data.cases.size() - 1, " more");
}

void WritePage(const json& data, std::ostream& out) {
  const std::string title = Escaped(data["title"].get<std::string>());
  const std::string embedded = ScriptJson(data);
  Fill(ReportPageHtml(),
       {{"{{title}}", title},
        {"{{licence}}", ReportPageLicence()},
        {"{{style}}", ReportPageStyle()},
        {"{{data}}", embedded},
        {"{{script-hash}}", ReportPageScriptSha256()},
        {"{{script}}", ReportPageScript()}},
       out);
}

}  // namespace

Status WriteReport(const json& replay, const std::string& title, std::ostream& out) {
  if (IsSharedReplay(replay)) {
    VS_ASSIGN_OR_RETURN(SharedReport shared, ReadSharedReport(replay));
    const std::string name = CleanText(title.empty() ? shared.title : title, kTitle);
    WritePage({{"title", name},
               {"cases", json::array()},
               {"prices", json::array({json::array({"prices", shared.prices})})},
               {"shared", std::move(shared.runs)}},
              out);
    return absl::OkStatus();
  }
  VS_ASSIGN_OR_RETURN(const ReportData data, ReadReportData(replay));
  json cases = json::array();
  for (const ReportCase& one : data.cases) cases.push_back(ToJson(one));
  json prices = json::array();
  for (const auto& [name, value] : data.prices) prices.push_back({name, value});
  WritePage({{"title", TitleOf(data, title)},
             {"cases", std::move(cases)},
             {"prices", std::move(prices)},
             {"shared", nullptr}},
            out);
  return absl::OkStatus();
}

}  // namespace vramspan::replay
