// Calls of functions in the same section, and what is known behind them.
//
// A function is gone through once for all of its callers. It writes to what it writes in any of
// them; all else is as each caller had it. That a return goes behind the call that led there, and
// nowhere else, is relied upon: it is what compilers make of C++.
//
// Pure.
#ifndef VRAMSPAN_TOOLS_PROVE_CALLS_H_
#define VRAMSPAN_TOOLS_PROVE_CALLS_H_

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <vector>

#include "tools/prove/states.h"

namespace vramspan::prove {

class Calls {
 public:
  explicit Calls(States& states) : states_(states) {}

  // `function`: that the call stands in. `callee`: the first instruction of what it calls.
  void Call(size_t call, size_t function, size_t callee, const State& state);
  // False: nothing calls it.
  bool Return(size_t function, const State& state);

 private:
  struct Caller {
    size_t function = 0;
    size_t callee = 0;
    State before;
  };
  struct Function {
    std::unique_ptr<State> left;  // As it returns; null before it was seen to.
    std::vector<size_t> callers;
  };

  void GoOnBehind(size_t call);

  States& states_;
  absl::flat_hash_map<size_t, std::unique_ptr<Caller>> callers_;  // By the call's instruction.
  absl::flat_hash_map<size_t, Function> functions_;               // By their first one.
};

}  // namespace vramspan::prove

#endif  // VRAMSPAN_TOOLS_PROVE_CALLS_H_
