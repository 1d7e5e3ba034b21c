// Processes say how they are, and ask for room for what is no chunk.
#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/handlers.h"
#include "tools/broker/core/word.h"

namespace vramspan::broker {
namespace {

Process* Living(State& state, ProcessId id) {
  Process* const process = Find(state, id);
  return process != nullptr && process->state != LeaseState::kDying ? process : nullptr;
}

// What all inside the tenant have of rooms, or wait for.
Bytes Rooms(const State& state, const Tenant& tenant) {
  Bytes sum;
  for (const ProcessId id : tenant.processes) {
    const Process& process = state.processes.at(id);
    sum = Plus(sum, process.room);
    if (process.room_wish) sum = Plus(sum, process.room_wish->bytes);
  }
  for (const TenantId id : tenant.tenants) sum = Plus(sum, Rooms(state, state.tenants.at(id)));
  return sum;
}

// Rooms are never recalled. So those of a tenant stay within what its processes are due by weight,
// and those of each tenant around within its limit.
bool WithinShare(const State& state, const Process& process, Bytes bytes) {
  const Tenant& own = state.tenants.at(process.tenant);
  Bytes share;
  for (const ProcessId id : own.processes) {
    const uint64_t fraction = state.processes.at(id).fraction;
    share = Plus(share, PartOf(Room(state, Place::kDevice), fraction, kWhole));
  }
  share = std::max(share, own.policy.guarantee[Place::kDevice]);
  if (Plus(Rooms(state, own), bytes) > share) return false;
  for (TenantId id = own.id; id != kRoot;) {
    const Tenant& tenant = state.tenants.at(id);
    if (Plus(Rooms(state, tenant), bytes) > tenant.policy.limit[Place::kDevice]) return false;
    id = tenant.parent;
  }
  return true;
}

}  // namespace

void On(State& state, const Says& event, Actions&) {
  Process* const process = Living(state, event.process);
  if (process != nullptr) TakeWord(*process, event.said);
}

void On(State& state, const WantsRoom& event, Actions& actions) {
  Process* const process = Living(state, event.process);
  if (process == nullptr) return;
  Refusal refusal = Refusal::kNone;
  if (process->room_wish) refusal = Refusal::kBusy;
  if (!WithinShare(state, *process, event.bytes)) refusal = Refusal::kShare;
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
  const Bytes before = Free(state, Place::kDevice);
  process->room = Minus(process->room, event.bytes);
  GatherFreed(state, Place::kDevice, before);
}

}  // namespace vramspan::broker
