// What is measured of several programs on one device over time: shares, how fair they are, and
// whose turn it was.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_SHARED_MEASURE_H_
#define VRAMSPAN_TOOLS_REPLAY_SHARED_MEASURE_H_

#include <absl/types/span.h>

#include <vector>

#include "tools/broker/core/state.h"
#include "tools/replay/shared_replay.h"
#include "tools/replay/shared_tenant.h"

namespace vramspan::replay {

class SharedMeasure {
 public:
  explicit SharedMeasure(size_t programs) : grants_(programs), turns_(programs) {}

  // How things stand at `now`, when all has settled.
  void Note(uint64_t now, absl::Span<const SharedTenant> tenants, const broker::State& state);
  // And so they do until `until`.
  void Pass(uint64_t now, uint64_t until, absl::Span<const SharedTenant> tenants,
            const broker::State& state);
  // All is over at `end`: what it comes to.
  SharedResult Finish(uint64_t end, absl::Span<const SharedTenant> tenants);

 private:
  struct Turns {
    uint64_t count = 0, time = 0;
  };
  void NoteTurn(uint64_t now, const broker::State& state);
  void EndTurn(uint64_t now);

  std::vector<double> grants_;  // Bytes times nanoseconds.
  std::vector<Turns> turns_;
  bool in_turn_ = false;  // The last of result_.turns goes on.
  double fair_ = 0, fair_time_ = 0;
  SharedResult result_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SHARED_MEASURE_H_
