// The room for everybody changes, or nothing happens but time.
#include <algorithm>

#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/handlers.h"

namespace vramspan::broker {

void On(State& state, const CapacityIs& event, Actions&) {
  const Bytes before = Free(state, event.place);
  state.pools[event.place].capacity = event.bytes;
  // How long guarantees may take follows from the capacity.
  for (auto& [id, tenant] : state.tenants) tenant.short_since.reset();
  GatherFreed(state, event.place, before);
  NoteExcess(state, event.place);
}

void On(State& state, const ForeignIs& event, Actions&) {
  const Bytes before = Free(state, event.place);
  state.pools[event.place].foreign = event.bytes;
  GatherFreed(state, event.place, before);
  NoteExcess(state, event.place);
}

void On(State&, const TimePasses&, Actions&) {}

}  // namespace vramspan::broker
