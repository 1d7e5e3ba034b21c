// Processes come: new ones with nothing, and after a restart those who held memory before.
#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/grants.h"
#include "tools/broker/core/handlers.h"
#include "tools/broker/core/word.h"

namespace vramspan::broker {
namespace {

// The new process; or nothing, and a refusal.
Process* Admit(State& state, ProcessId id, TenantId tenant, bool drained, Actions& actions) {
  const Tenant* const inside = Find(state, tenant);
  Refusal refusal = Refusal::kNone;
  if (!id || inside == nullptr || tenant == kRoot) refusal = Refusal::kUnknown;
  if (Find(state, id) != nullptr) refusal = Refusal::kKnown;
  if (refusal != Refusal::kNone) {
    actions.push_back(
        {.kind = Action::Kind::kRefuse, .process = id, .tenant = tenant, .refusal = refusal});
    return nullptr;
  }
  Process& process = state.processes[id];
  process.id = id;
  process.tenant = tenant;
  process.drained = drained;
  state.tenants.at(tenant).processes.push_back(id);
  SetFractions(state);
  SetDrains(state);
  return &process;
}

}  // namespace

void On(State& state, const Joins& event, Actions& actions) {
  Process* const process = Admit(state, event.process, event.tenant, event.drained, actions);
  if (process == nullptr) return;
  TakeWord(*process, event.said);
}

void On(State& state, const Restarts& event, Actions& actions) {
  if (!state.processes.empty()) {
    actions.push_back({.kind = Action::Kind::kRefuse, .refusal = Refusal::kNotNow});
    return;
  }
  state.adopting = event.processes;
  state.adopting_until = After(state.now, state.settings.adoption);
}

void On(State& state, const Adopts& event, Actions& actions) {
  const bool proven = event.proven[Place::kDevice].has_value();
  if (!proven && !state.adopting_until) {
    actions.push_back({.kind = Action::Kind::kRefuse,
                       .process = event.process,
                       .tenant = event.tenant,
                       .refusal = Refusal::kNotNow});
    return;
  }
  Process* const process = Admit(state, event.process, event.tenant, event.drained, actions);
  if (process == nullptr) return;
  process->state = LeaseState::kAdopted;
  process->revision = event.revision;
  // Its room is memory that it has, whatever its share is now.
  process->room = std::min(event.room, event.proven_room);
  for (const Place place : kPlaces) {
    const Bytes said = event.grants[place];
    process->leases[place].told = true;
    if (!event.proven[place]) {
      process->claimed[place] = said;
      continue;
    }
    Bytes& grant = process->leases[place].grant;
    grant = std::min(said, *event.proven[place]);
    // It hears what it was not believed.
    if (said > grant) TellGrant(*process, place, actions);
    NoteExcess(state, place);
  }
  NoteExcess(state, Place::kDevice);
  TakeWord(*process, event.said);
  if (proven && state.adopting > 0) --state.adopting;
}

}  // namespace vramspan::broker
