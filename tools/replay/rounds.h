// What a program does again and again: a training step, a token, a sweep of a solver. Its time says
// what a run of any length would take, where that of the whole run has what is paid once in it.
//
// A round begins with some launches that come again, the same code on the same memory, and goes on
// with the same code as the one before; the memory of the rest may be other (activations). A loop
// within a step is no round: what comes behind it does not repeat with it. Where that finds none,
// only large memory has to be the same, and nine tenths of the code: tokens, each of which has a
// longer cache than the last.
//
// A run may have several kinds of rounds, one after the other: a phase each, as tokens and then
// batches.
#ifndef VRAMSPAN_TOOLS_REPLAY_ROUNDS_H_
#define VRAMSPAN_TOOLS_REPLAY_ROUNDS_H_

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

class Rounds {
 public:
  static constexpr size_t kLeast = 3;  // Fewer are none.

  Rounds() = default;
  // As if each of `all`, works in order, began a round.
  explicit Rounds(absl::Span<const uint32_t> all);

  bool empty() const { return begins_.empty(); }
  // How many there are, and of how many pieces of work the median one is.
  size_t count() const { return begins_.size(); }
  uint32_t works() const { return works_; }
  // The work with which each begins, in order. Where one is much longer than others, or much
  // shorter, there is none.
  absl::Span<const uint32_t> begins() const { return begins_; }
  // Behind the last.
  uint32_t end() const { return ends_.empty() ? 0 : ends_.back(); }

  // Nanoseconds that the median round takes where work `i` ends at `ends[i]`. 0: there are none.
  uint64_t Median(absl::Span<const uint64_t> ends) const;

 private:
  std::vector<uint32_t> begins_, ends_;  // Of each; with what it ends another may begin.
  uint32_t works_ = 0;
};

// The rounds of a whole run.
class Phases {
 public:
  static constexpr double kLeastShare = 0.05;  // Of the run's work; a phase with less is none.
  static constexpr double kMainShare = 0.25;   // So much is a fair part.

  explicit Phases(const RecordedRun& run);

  // In order; none overlaps another.
  absl::Span<const Rounds> all() const { return all_; }
  // The phase with most work, where that is a fair part of the run's; else empty.
  const Rounds& main() const { return main_; }
  // Nanoseconds of all rounds, each as long as the median one of its phase, where work `i` ends at
  // `ends[i]`. 0: together they are less than a fair part of the run.
  uint64_t Repeated(absl::Span<const uint64_t> ends) const;

 private:
  std::vector<Rounds> all_;
  Rounds main_;
  bool fair_part_ = false;  // Of the run's work, all of them.
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_ROUNDS_H_
