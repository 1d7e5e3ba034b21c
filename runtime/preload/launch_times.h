// How long launches take on the device, from where their stream comes to them until they have
// ended: what they wait for their memory is part of it. Nobody waits to learn that.
//
// Threads: one at a time. Calls are the driver's own, past hooks.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_LAUNCH_TIMES_H_
#define VRAMSPAN_RUNTIME_PRELOAD_LAUNCH_TIMES_H_

#include <absl/functional/function_ref.h>

#include <array>
#include <cstddef>

#include "runtime/placement/graph_choice.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

class LaunchTimes {
 public:
  // Under way at once. Of more nothing is learnt.
  static constexpr size_t kMost = 4;

  LaunchTimes() = default;
  ~LaunchTimes();
  LaunchTimes(const LaunchTimes&) = delete;
  LaunchTimes& operator=(const LaunchTimes&) = delete;

  // Before and behind the calls of a launch, in its stream.
  void Begin(CUstream stream);
  void End(CUstream stream, GraphWay way);
  // Tells of those that have ended, in order.
  void Collect(absl::FunctionRef<void(GraphWay, Duration)> tell);
  // What it has made went with its context.
  void Abandon();

 private:
  struct Launch {
    CUevent begin = nullptr, end = nullptr;
    GraphWay way = GraphWay::kWhole;
  };

  Launch& Nth(size_t n) { return launches_[(first_ + n) % kMost]; }

  std::array<Launch, kMost> launches_;
  size_t first_ = 0, count_ = 0;  // Under way.
  bool begun_ = false;            // The one behind these.
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_LAUNCH_TIMES_H_
