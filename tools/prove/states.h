// What is known before each block, and which blocks are still to be gone through.
//
// A block is gone through again whenever more may be true before it. Each time what is known gets
// less, of which there is an end. Hostile code could make that take long, and much memory: both
// have limits in proportion to the code.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_STATES_H_
#define VRAMSPAN_TOOLS_PROVE_STATES_H_

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "tools/prove/state.h"

namespace vramspan::prove {

class States {
 public:
  explicit States(size_t instructions);

  // The block is reached like that. `function`: the first instruction of the one that it is in.
  void Enter(size_t at, const State& state, size_t function);
  // A block to go through; none if none is left.
  std::optional<size_t> Next();
  void RepeatAll();  // Those that were reached.

  const State& Before(size_t at) const { return *before_[at]; }
  size_t FunctionOf(size_t at) const { return function_[at]; }

  // What else is kept, or was gone through, counts against the limits.
  void Keep(size_t bytes) { bytes_ += bytes; }
  void Work(uint64_t units) { work_ += units; }
  // Why no more can be found out; empty: go on.
  std::string_view Limit() const;

 private:
  static constexpr size_t kNone = ~size_t{0};

  std::vector<std::unique_ptr<State>> before_;
  std::vector<size_t> function_;
  std::vector<bool> queued_;
  std::deque<size_t> queue_;
  size_t bytes_ = 0;
  uint64_t work_ = 0;
  std::string_view odd_;  // What no compiler does.
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_STATES_H_
