#include "bench/workloads/traced_passes.h"

#include <chrono>
#include <numeric>

namespace vramspan::bench {
namespace {

// More than any runtime looks ahead, few enough that the limit of time means something.
constexpr int kAhead = 8;

}  // namespace

Timing Passes::Run(const PassPlan& plan, const std::function<void(int pass)>& submit) {
  using Clock = std::chrono::steady_clock;
  const DriverApi& cu = machine_.api();
  const int most = plan.warm_up + plan.measured + plan.tail;
  while (ended_.size() < static_cast<size_t>(most) + 1) ended_.push_back(machine_.MakeEvent(true));
  const auto record = [&](int i) {
    machine_.Check(cu.EventRecord(ended_[static_cast<size_t>(i)], stream_), "cuEventRecord");
  };
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };

  Timing timing;
  machine_.Synchronize(stream_);
  const auto start = Clock::now();
  record(0);
  for (; timing.passes < most; ++timing.passes) {
    if (timing.passes >= kAhead) {
      machine_.Check(cu.EventSynchronize(ended_[static_cast<size_t>(timing.passes - kAhead) + 1]),
                     "cuEventSynchronize");
    }
    if (timing.passes >= plan.warm_up + 2 + plan.tail && seconds_since(start) > plan.limit) break;
    submit(timing.passes);
    record(timing.passes + 1);
  }
  machine_.Synchronize(stream_);
  timing.whole = seconds_since(start) / timing.passes;

  std::vector<double> seconds;
  for (int pass = plan.warm_up; pass < timing.passes - plan.tail; ++pass) {
    const auto i = static_cast<size_t>(pass);
    seconds.push_back(machine_.Seconds(ended_[i], ended_[i + 1]));
  }
  timing.median = Median(seconds);
  timing.mean =
      std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
  return timing;
}

}  // namespace vramspan::bench
