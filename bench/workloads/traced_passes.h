// Times passes of queued work on one stream.
//
// Threads: one.
#ifndef VRAMSPAN_BENCH_WORKLOADS_TRACED_PASSES_H_
#define VRAMSPAN_BENCH_WORKLOADS_TRACED_PASSES_H_

#include <functional>
#include <vector>

#include "bench/workloads/machine.h"

namespace vramspan::bench {

struct PassPlan {
  int measured = 20;
  int warm_up = 2;  // Before them.
  int tail = 1;     // Behind them, where there is nothing left to look ahead to.
  double limit =
      5;  // Seconds. When they are over, no more passes are begun, once two were measured.
};

// Seconds a pass.
struct Timing {
  double median = 0;  // GPU time from the end of a pass to the end of the next.
  double mean = 0;
  double whole = 0;  // Wall clock of everything, warm-up and tail included.
  int passes = 0;    // All that ran.
};

class Passes {
 public:
  explicit Passes(Machine& machine) : Passes(machine, machine.MakeStream()) {}
  Passes(Machine& machine, CUstream stream) : machine_(machine), stream_(stream) {}

  CUstream stream() const { return stream_; }

  // Queues `submit(pass)` for every pass, a few passes ahead of the GPU, and waits for them all.
  Timing Run(const PassPlan& plan, const std::function<void(int pass)>& submit);

 private:
  Machine& machine_;
  const CUstream stream_;
  std::vector<CUevent> ended_;  // [0]: the start of all.
};

}  // namespace vramspan::bench

#endif  // VRAMSPAN_BENCH_WORKLOADS_TRACED_PASSES_H_
