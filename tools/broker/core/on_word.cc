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

// Rooms are never recalled. So those of a tenant stay within what it is due by weight.
bool WithinShare(const State& state, const Process& process, Bytes bytes) {
  Bytes rooms = bytes;
  Bytes share;
  for (const ProcessId id : state.tenants.at(process.tenant).processes) {
    const Process& other = state.processes.at(id);
    rooms = Plus(rooms, other.room);
    if (other.room_wish) rooms = Plus(rooms, other.room_wish->bytes);
    share = Plus(share, PartOf(Room(state, Place::kDevice), other.fraction, kWhole));
  }
  const Policy& policy = state.tenants.at(process.tenant).policy;
  share = std::max(share, policy.guarantee[Place::kDevice]);
  return rooms <= std::min(share, policy.limit[Place::kDevice]);
}

}  // namespace

void On(State& state, const Says& event, Actions&) {
  Process* const process = Living(state, event.process);
  if (process != nullptr) TakeWord(state, *process, event.said);
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
