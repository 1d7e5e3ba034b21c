#include "tools/broker/core/decide.h"

#include <algorithm>
#include <variant>

#include "runtime/base/log.h"
#include "tools/broker/core/handlers.h"
#include "tools/broker/core/invariants.h"
#include "tools/broker/core/settle.h"

namespace vramspan::broker {

Actions Decide(State& state, const Event& event) {
  state.now = std::max(state.now, event.at);
  Actions actions;
  std::visit([&](const auto& what) { On(state, what, actions); }, event.what);
  Settle(state, actions);
  VS_DCHECK(BrokenInvariant(state).empty());
  return actions;
}

}  // namespace vramspan::broker
