// Programs that declare nothing, under runtimes that trace them: each beside the same work in plain
// device memory, in mapped host memory, with a part of its data on the device for good, and with
// double buffering written by hand, all in one process.
//
//   traced_bench [--workload launch,chain,sweep,hotcold,bfs] [--overlap off,safe,all]
//                [--budget 4GiB] [--format table|json]
//   traced_bench --check --workload sweep    right results, nothing else
//
// The bound of a run is the larger of its time where everything is resident, and of the time that
// the fewest bytes that any schedule moves or serves in place take over the link of this machine.
// Sums of all that was read are compared with the resident run's, pass by pass; exit code 1 if any
// differ. Without an option, everything is small on a device of less than 8 GiB, as a simulated one
// is.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "bench/workloads/arguments.h"
#include "bench/workloads/traced_workloads.h"
#include "runtime/backing/budget.h"

namespace vramspan::bench {
namespace {

struct Workload {
  const char* name;
  void (*run)(Bench&);
};

// In the order in which they must run.
constexpr Workload kWorkloads[] = {
    {"launch", &MeasureLaunches},    {"chain", &MeasureChains}, {"sweep", &MeasureSweeps},
    {"hotcold", &MeasureHotAndCold}, {"bfs", &MeasureSearches},
};

struct Options {
  Settings settings;
  std::vector<std::string> workloads;
  std::string budget;
  std::string format = "table";
  bool check = false;
};

int Measure(const Options& options) {
  Machine machine;
  Settings settings = options.settings;
  settings.small |= machine.capabilities().total_memory < GiB(8);
  settings.stand_in |= settings.small;
  settings.budget = settings.small ? size_t{16} << 20 : size_t{4} << 30;
  settings.graph_budget = settings.small ? settings.budget : settings.budget / 2;
  if (settings.small || options.check) settings.passes = std::min(settings.passes, 5);
  if (settings.columns.empty()) {
    settings.columns =
        settings.small ? std::vector<int>{4, 1} : std::vector<int>{16384, 4096, 64, 1};
  }
  if (!options.budget.empty()) {
    const StatusOr<Bytes> budget = ParseSize(options.budget);
    if (!budget.ok()) {
      throw std::invalid_argument("--budget: " + std::string(budget.status().message()));
    }
    settings.budget = budget->value;
    settings.graph_budget = budget->value;
  }

  Bench bench(machine, settings);
  bench.report.machine = machine.name();
  bench.report.budget = settings.budget;
  const auto wanted = [&](const Workload& w) {
    return std::find(options.workloads.begin(), options.workloads.end(), w.name) !=
           options.workloads.end();
  };
  for (const Workload& workload : kWorkloads) {
    if (!wanted(workload)) continue;
    // Not before the first: launches are to be measured in a process that has done nothing else.
    if (bench.report.link_rate == 0 && workload.run != &MeasureLaunches) {
      bench.report.link_rate =
          MeasureLink(machine, settings.small ? size_t{4} << 20 : size_t{256} << 20, 5).in;
    }
    const auto start = std::chrono::steady_clock::now();
    workload.run(bench);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "%s: %.1f s\n", workload.name, seconds.count());
  }
  const bool right = bench.report.right();
  if (options.check) {
    std::printf("%s: %s: %zu runs, results %s\n", right ? "right" : "WRONG",
                bench.report.machine.c_str(), bench.report.rows.size(),
                right ? "as in plain device memory" : "DIFFERENT");
  } else if (options.format == "json") {
    bench.report.PrintJson();
  } else {
    bench.report.PrintTable();
  }
  return right ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Programs that declare nothing, traced, beside what they are to be compared with.");
  Options options;
  std::vector<std::string> names;
  for (const Workload& w : kWorkloads) names.emplace_back(w.name);
  options.workloads = names;
  options.settings.overlaps = {"off", "safe", "all"};
  app.add_option("--workload", options.workloads)
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  app.add_option("--overlap", options.settings.overlaps, "How far the inference is trusted")
      ->delimiter(',')
      ->check(CLI::IsMember({"off", "safe", "all"}))
      ->capture_default_str();
  app.add_option("--budget", options.budget,
                 "Device memory of the runtimes (4GiB, bfs 2GiB; small: 16MiB)");
  app.add_option("--chunk", options.settings.chunk)->capture_default_str();
  app.add_option("--policy", options.settings.policy);
  app.add_option("--m", options.settings.columns, "Columns of the chain's activation")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--passes", options.settings.passes, "Passes of a sweep that are measured")
      ->check(CLI::Range(2, 40))
      ->capture_default_str();
  app.add_option("--chain-passes", options.settings.chain_passes,
                 "Passes of a chain that does not fit: what is learnt in the first few counts less")
      ->check(CLI::Range(2, 40))
      ->capture_default_str();
  app.add_option("--limit", options.settings.limit,
                 "Seconds after which a run begins no more passes")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  app.add_option("--format", options.format)
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app.add_flag("--stand-in", options.settings.stand_in, "A plain kernel in place of cuBLAS");
  app.add_flag("--small", options.settings.small, "Tiny sizes, as on a small device");
  app.add_flag("--check", options.check, "Only results");
  if (const auto code = vramspan::bench::ParseArguments(app, argc, argv)) return *code;
  return RunMain("traced_bench", [&] { return Measure(options); });
}

}  // namespace
}  // namespace vramspan::bench

int main(int argc, char** argv) { return vramspan::bench::Main(argc, argv); }
