// What a program does again and again: a training step, a token, a sweep of a solver. Its time says
// what a run of any length would take, where that of the whole run has what is paid once in it.
//
// A round begins with some launches that come again, the same code on the same memory, and goes on
// with the same code as the one before; the memory of the rest may be other (activations). A loop
// within a step is no round: what comes behind it does not repeat with it.
#ifndef VRAMSPAN_TOOLS_REPLAY_ROUNDS_H_
#define VRAMSPAN_TOOLS_REPLAY_ROUNDS_H_

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

class Rounds {
 public:
  // Fewer, or such that they are less of the work, are none.
  static constexpr size_t kLeast = 3;
  static constexpr double kLeastShare = 0.25;

  Rounds() = default;
  // Those of the run; none where nothing is found that repeats.
  explicit Rounds(const RecordedRun& run);

  bool empty() const { return begins_.empty(); }
  // How many there are, and of how many pieces of work the median one is.
  size_t count() const { return begins_.size(); }
  uint32_t works() const { return works_; }
  // The work with which each begins, in order. Where one is much longer than others, or much
  // shorter, there is none.
  absl::Span<const uint32_t> begins() const { return begins_; }

  // Nanoseconds that the median round takes where work `i` ends at `ends[i]`. 0: there are none.
  uint64_t Median(absl::Span<const uint64_t> ends) const;

 private:
  explicit Rounds(absl::Span<const uint32_t> all);

  std::vector<uint32_t> begins_, ends_;  // Of each; with what it ends another may begin.
  uint32_t works_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_ROUNDS_H_
