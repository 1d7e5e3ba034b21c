// The main of every benchmark here: Google Benchmark's own, with --results FILE besides. It adds a
// row for each benchmark to the file, with the median of its repetitions (bench/result_row.h).
#include <benchmark/benchmark.h>

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/result_row.h"

namespace {

using vramspan::bench::ResultRow;

// What stands behind --results, which is taken out of the arguments. Empty where it is not there.
std::string TakeResults(int* argc, char** argv) {
  constexpr std::string_view kOption = "--results";
  std::string path;
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == kOption && i + 1 < *argc) {
      path = argv[++i];
    } else if (argument.starts_with("--results=")) {
      path = argument.substr(kOption.size() + 1);
    } else {
      argv[kept++] = argv[i];
    }
  }
  *argc = kept;
  argv[kept] = nullptr;
  return path;
}

// "plan" of build/release/bin/plan_bench.
std::string ProgramOf(std::string_view path) {
  path.remove_prefix(path.find_last_of('/') + 1);
  if (path.ends_with("_bench")) path.remove_suffix(std::string_view("_bench").size());
  return std::string(path);
}

// Prints as ever, and keeps what rows are made of.
class RowReporter : public benchmark::ConsoleReporter {
 public:
  explicit RowReporter(std::string program)
      : ConsoleReporter(OO_Tabular), program_(std::move(program)) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.error_occurred) failed_ = true;
      if (run.error_occurred || run.run_type != Run::RT_Iteration) continue;
      ResultRow& row = RowOf(Id(run.run_name));
      const auto items = run.counters.find("items_per_second");
      if (items != run.counters.end()) {
        row.unit = "million/s";
        row.values.push_back(items->second.value / 1e6);
      } else {
        row.unit = benchmark::GetTimeUnitString(run.time_unit);
        // The processor's time, but where the benchmark says that another counts.
        const bool real = !run.run_name.time_type.empty();
        row.values.push_back(real ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime());
      }
    }
  }

  const std::vector<ResultRow>& rows() const { return rows_; }
  bool failed() const { return failed_; }

 private:
  std::string Id(const benchmark::BenchmarkName& name) const {
    std::string_view function = name.function_name;
    if (function.starts_with("BM_")) function.remove_prefix(3);
    std::string id = vramspan::bench::IdOf(function);
    if (id != program_ && !id.starts_with(program_ + '.')) id = program_ + '.' + id;
    if (!name.args.empty()) id += '.' + vramspan::bench::IdOf(name.args);
    if (!name.threads.empty()) id += '.' + vramspan::bench::IdOf(name.threads);
    return id;
  }
  ResultRow& RowOf(const std::string& id) {
    const auto [at, added] = at_.try_emplace(id, rows_.size());
    if (added) rows_.push_back({.id = id, .unit = "", .values = {}});
    return rows_[at->second];
  }

  const std::string program_;
  std::vector<ResultRow> rows_;
  std::map<std::string, size_t> at_;
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string results = TakeResults(&argc, argv);
  const std::string command = vramspan::bench::CommandOf(argc, argv);
  const std::string program = ProgramOf(argv[0]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  if (results.empty()) {
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  }
  RowReporter reporter(program);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  if (!vramspan::bench::AppendResults(results, reporter.rows(), command)) return 1;
  return reporter.failed() ? 1 : 0;
}
