// The workloads of traced_bench. Nothing of them is declared: a runtime sees launches and copies.
// Each appends its rows to the bench's report; results that differ from the resident run's are
// marked there.
#ifndef VRAMSPAN_BENCH_WORKLOADS_TRACED_WORKLOADS_H_
#define VRAMSPAN_BENCH_WORKLOADS_TRACED_WORKLOADS_H_

#include <functional>
#include <string>
#include <vector>

#include "bench/workloads/machine.h"
#include "bench/workloads/traced_memory.h"
#include "bench/workloads/traced_passes.h"
#include "bench/workloads/traced_reader.h"
#include "bench/workloads/traced_report.h"

namespace vramspan::bench {

struct Settings {
  size_t budget = 0;
  size_t graph_budget = 0;  // The same for searches of a graph, which take long in host memory.
  std::vector<std::string> overlaps;
  std::string chunk = "auto";
  std::string policy;
  std::vector<int> columns;  // Of the chain's activation.
  int passes = 20;           // Of the sweep; others have fewer.
  int chain_passes = 5;
  double limit = 5;       // Seconds for each measurement.
  bool small = false;     // Everything tiny, and no cuBLAS.
  bool stand_in = false;  // A plain kernel in its place.
};

struct Bench {
  Bench(Machine& on, const Settings& with)
      : machine(on),
        settings(with),
        memory(on),
        passes(on),
        reader(on, passes.stream(), with.small) {}

  // Baselines need no policy to settle.
  PassPlan BaselinePlan() const { return {.measured = 6, .warm_up = 1, .limit = settings.limit}; }

  // The time of the fewest bytes over the link, and of the work where nothing moves.
  double Bound(double resident_seconds, double bytes_a_pass) const {
    return std::max(resident_seconds, bytes_a_pass / report.link_rate);
  }

  // Runs the passes under `runtime` with its counters around them.
  static void RunTraced(const Runtime& runtime, Passes& passes, const PassPlan& plan,
                        const std::function<void(int pass)>& submit, Row* row) {
    runtime.synchronize();
    row->traced = true;
    row->before = runtime.statistics();
    row->timing = passes.Run(plan, submit);
    runtime.synchronize();
    row->after = runtime.statistics();
  }

  Machine& machine;
  const Settings settings;
  PlainMemory memory;
  Passes passes;
  Reader reader;
  Report report;
};

// What a launch costs the thread that makes it. To be run before any other: CUPTI, once in a
// process, stays.
void MeasureLaunches(Bench& bench);
// GEMMs one after the other over weights that fit, and over more than the budget.
void MeasureChains(Bench& bench);
// A buffer larger than the budget, read from one end to the other once a pass.
void MeasureSweeps(Bench& bench);
// Nine launches of ten go to a tenth of a buffer of twice the budget.
void MeasureHotAndCold(Bench& bench);
// Breadth-first searches of a power-law graph of twice the budget.
void MeasureSearches(Bench& bench);

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_TRACED_WORKLOADS_H_
