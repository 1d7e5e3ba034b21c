// Processes say how they are, and ask for room for what is no chunk.
#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gpu_turns.h"
#include "tools/broker/core/handlers.h"
#include "tools/broker/core/word.h"

namespace vramspan::broker {
namespace {

Process* Living(State& state, ProcessId id) {
  Process* const process = Find(state, id);
  return process != nullptr && process->state != LeaseState::kDying ? process : nullptr;
}

Bytes Rooms(const Process& process) {
  return Plus(process.room, process.room_wish ? process.room_wish->bytes : Bytes());
}

// What the tenant's own processes have of rooms, or wait for.
Bytes Rooms(const State& state, const Tenant& tenant) {
  Bytes sum;
  for (const ProcessId id : tenant.processes) sum = Plus(sum, Rooms(state.processes.at(id)));
  return sum;
}

// What cannot be used for anything else if all come: guarantees, whether anybody is there for them
// or not, and rooms beyond them. `asking` asks for `bytes` of room.
Bytes Promised(const State& state, const Tenant& tenant, TenantId asking, Bytes bytes) {
  Bytes sum = Rooms(state, tenant);
  if (tenant.id == asking) sum = Plus(sum, bytes);
  for (const TenantId id : tenant.tenants) {
    sum = Plus(sum, Promised(state, state.tenants.at(id), asking, bytes));
  }
  return std::max(sum, tenant.policy.guarantee[Place::kDevice]);
}

// Rooms are never recalled. So those of a tenant stay within what its processes are due by weight
// now, and within what contexts need. They leave others' guarantees alone, and keep the limits.
bool MayHaveRoom(const State& state, const Process& process, Bytes bytes) {
  const Tenant& own = state.tenants.at(process.tenant);
  Bytes share;
  for (const ProcessId id : own.processes) {
    const uint64_t fraction = state.processes.at(id).fraction;
    share = Plus(share, PartOf(Room(state, Place::kDevice), fraction, kWhole));
  }
  share = std::max(share, own.policy.guarantee[Place::kDevice]);
  if (Plus(Rooms(process), bytes) > state.settings.most_room) return false;
  if (Plus(Rooms(state, own), bytes) > std::min(share, state.settings.most_rooms)) return false;
  // What is within the guarantee takes nothing from others, whatever came of the capacity.
  const Tenant& root = state.tenants.at(kRoot);
  const Bytes promised = Promised(state, root, own.id, bytes);
  if (promised > Room(state, Place::kDevice) && promised > Promised(state, root, own.id, Bytes())) {
    return false;
  }
  for (TenantId id = own.id; id != kRoot;) {
    const Tenant& tenant = state.tenants.at(id);
    if (Promised(state, tenant, own.id, bytes) > tenant.policy.limit[Place::kDevice]) return false;
    id = tenant.parent;
  }
  return true;
}

}  // namespace

void On(State& state, const Says& event, Actions&) {
  Process* const process = Living(state, event.process);
  if (process == nullptr) return;
  TakeWord(*process, event.said);
  NoteActivity(state, *process);
}

void On(State& state, const WantsRoom& event, Actions& actions) {
  Process* const process = Living(state, event.process);
  if (process == nullptr) return;
  Refusal refusal = Refusal::kNone;
  if (process->room_wish) refusal = Refusal::kBusy;
  if (!MayHaveRoom(state, *process, event.bytes)) refusal = Refusal::kShare;
  if (refusal != Refusal::kNone) {
    actions.push_back({.kind = Action::Kind::kRefuse,
                       .process = process->id,
                       .tenant = process->tenant,
                       .bytes = event.bytes,
                       .refusal = refusal});
    return;
  }
  process->room_wish = {event.bytes, After(state.now, state.settings.room_wait)};
}

void On(State& state, const ReturnsRoom& event, Actions&) {
  Process* const process = Living(state, event.process);
  if (process == nullptr) return;
  const Bytes returned = std::min(process->room, event.bytes);
  if (returned == Bytes()) return;
  process->room -= returned;
  process->room_kept = Plus(process->room_kept, returned);
  process->room_kept_until = After(state.now, state.settings.demand_window);
}

}  // namespace vramspan::broker
