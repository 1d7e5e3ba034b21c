#include "tools/broker/core/death.h"

#include <vector>

#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"

namespace vramspan::broker {

void Forget(State& state, ProcessId id, Actions& actions) {
  const TenantId tenant = state.processes.at(id).tenant;
  PerPlace<Bytes> before;
  for (const Place place : kPlaces) before[place] = Free(state, place);
  std::erase(state.tenants.at(tenant).processes, id);
  state.processes.erase(id);
  SetFractions(state);
  for (const Place place : kPlaces) GatherFreed(state, place, before[place]);
  actions.push_back({.kind = Action::Kind::kForget, .process = id, .tenant = tenant});
}

void ForgetTheLongDead(State& state, Actions& actions) {
  std::vector<ProcessId> dead;
  for (const auto& [id, process] : state.processes) {
    if (process.state == LeaseState::kDying && process.until <= state.now) dead.push_back(id);
  }
  for (const ProcessId id : dead) Forget(state, id, actions);
}

}  // namespace vramspan::broker
