// `vramspan trace stats`: what each kernel took and touched.
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/replay/load_run.h"
#include "tools/vramspan/amount_text.h"
#include "tools/vramspan/audit_report.h"
#include "tools/vramspan/command.h"
#include "tools/vramspan/damage.h"
#include "tools/vramspan/trace_action.h"

namespace vramspan::trace_command {
namespace {

using replay::RecordedRange;
using replay::RecordedRun;
using replay::RecordedWork;

struct Row {
  std::string name;
  uint64_t launches = 0, measured = 0;
  uint64_t time = 0, touched = 0, remote = 0;
  std::vector<uint64_t> times;

  uint64_t Median() {
    if (times.empty()) return 0;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
  // GB/s of its likely memory.
  double Rate() const {
    return time == 0 ? 0 : static_cast<double>(touched) / static_cast<double>(time);
  }
};

std::vector<Row> RowsOf(const RecordedRun& run) {
  std::map<std::string, Row> by_name;
  for (const RecordedWork& work : run.works) {
    const std::string& name = run.codes[work.code].name;
    Row& row = by_name[name];
    row.name = name;
    ++row.launches;
    row.remote += work.remote;
    for (const RecordedRange& r : run.set(work.set)) row.touched += r.size;
    if (!work.timed()) continue;
    row.time += work.end - work.start;
    if (work.guessed) continue;
    ++row.measured;
    row.times.push_back(work.end - work.start);
  }
  std::vector<Row> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.time > b.time; });
  return rows;
}

// As RFC 4180 has it.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

class Stats final : public Action {
 public:
  std::string name() const override { return "stats"; }

  void Define(CommandOptions& trace) override {
    CommandOptions options = trace.Action(name(), "Show what each kernel took and touched");
    options.Option("trace", path_, "A trace of `vramspan run --record`").Required().Shown("FILE");
    options.Option("--top", top_, "How many rows to show, the longest first; 0 shows all")
        .AtLeastNone()
        .Shown("N")
        .ShowDefault();
    options.Option("--format", format_, "How the result is printed")
        .OneOf({"table", "csv", "json"})
        .ShowDefault();
    options.Footer(
        "  touched  the memory that the launches named, as far as can be inferred, summed\n"
        "  remote   how much of it was on the host\n"
        "  GB/s     touched over the time on the device\n"
        "\n"
        "Exit status\n"
        "  0  the trace was read whole\n"
        "  1  the trace cannot be read, or not all of it; the rest is shown\n"
        "  2  the command line was not understood\n"
        "\n"
        "Examples\n"
        "  vramspan trace stats out.vramspan\n"
        "  vramspan trace stats out.vramspan --top 0 --format csv > kernels.csv\n"
        "\n"
        "Read more: docs/replay.md");
  }

  Status Run() override {
    VS_ASSIGN_OR_RETURN(const RecordedRun run, replay::LoadRun(path_));
    std::vector<Row> rows = RowsOf(run);
    uint64_t time = 0;
    for (const Row& row : rows) time += row.time;
    const size_t count = rows.size();
    if (top_ != 0 && rows.size() > top_) rows.resize(top_);
    SayProblems(path_, run.notes);
    SayProblems(path_, run.problems);
    if (format_ == "json") {
      Json(&rows);
    } else if (format_ == "csv") {
      Csv(&rows);
    } else {
      Table(&rows, time, count);
    }
    return CheckWhole(path_, run.problems);
  }

 private:
  static void Table(std::vector<Row>* rows, uint64_t time, size_t all) {
    std::cout << absl::StrFormat("%9s %9s %5s %10s %10s %10s %8s  %s\n", "launches", "time", "%",
                                 "median", "touched", "remote", "GB/s", "kernel");
    for (Row& row : *rows) {
      std::cout << absl::StrFormat(
          "%9d %9s %5.1f %10s %10s %10s %8.1f  %s\n", row.launches, TimeText(row.time),
          time == 0 ? 0.0 : 100.0 * static_cast<double>(row.time) / static_cast<double>(time),
          row.measured == 0 ? "-" : TimeText(row.Median()), SizeText(row.touched),
          SizeText(row.remote), row.Rate(), audit::ShortName(row.name, 60));
    }
    if (rows->size() < all) {
      std::cout << absl::StrFormat("--top 0 shows %d more\n", all - rows->size());
    }
  }

  static void Json(std::vector<Row>* rows) {
    nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
    for (Row& row : *rows) {
      kernels.push_back({{"name", row.name},
                         {"launches", row.launches},
                         {"measured", row.measured},
                         {"time_ns", row.time},
                         {"median_ns", row.Median()},
                         {"touched_bytes", row.touched},
                         {"remote_bytes", row.remote}});
    }
    const nlohmann::ordered_json json = {
        {"schema", "vramspan.trace-stats"}, {"schema_version", 1}, {"kernels", kernels}};
    std::cout << json.dump(2, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
  }

  static void Csv(std::vector<Row>* rows) {
    std::cout << "name,launches,measured,time_ns,median_ns,touched_bytes,remote_bytes\n";
    for (Row& row : *rows) {
      std::cout << Quoted(row.name) << "," << row.launches << "," << row.measured << "," << row.time
                << "," << row.Median() << "," << row.touched << "," << row.remote << "\n";
    }
  }

  std::string path_, format_ = "table";
  size_t top_ = 30;
};

}  // namespace

std::unique_ptr<Action> MakeStats() { return std::make_unique<Stats>(); }

}  // namespace vramspan::trace_command
