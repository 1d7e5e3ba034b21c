#include "tools/prove/calls.h"

namespace vramspan::prove {

void Calls::Call(size_t call, size_t function, size_t callee, const State& state) {
  std::unique_ptr<Caller>& caller = callers_[call];
  if (caller == nullptr) {
    functions_[callee].callers.push_back(call);
    states_.Keep(state.Bytes());
  }
  caller = std::make_unique<Caller>(Caller{function, callee, state});
  State inside = state;
  inside.BeginFunction();
  states_.Enter(callee, inside, callee);
  GoOnBehind(call);
}

bool Calls::Return(size_t function, const State& state) {
  const auto found = functions_.find(function);
  if (found == functions_.end()) return false;
  Function& left = found->second;
  if (left.left == nullptr) {
    left.left = std::make_unique<State>(state);
    states_.Keep(state.Bytes());
  } else if (!left.left->Join(state)) {
    return true;
  }
  for (const size_t call : left.callers) {
    if (!states_.Limit().empty()) break;
    GoOnBehind(call);
  }
  return true;
}

void Calls::GoOnBehind(size_t call) {
  const Caller& caller = *callers_.at(call);
  const Function& callee = functions_.at(caller.callee);
  if (callee.left == nullptr) return;
  State now = caller.before;
  now.TakeWritten(*callee.left);
  states_.Enter(call + 1, now, caller.function);
}

}  // namespace vramspan::prove
