// Processes stop, run again, die, and are seen to hold more than they may.
#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/death.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/handlers.h"
#include "tools/broker/core/obedience.h"

namespace vramspan::broker {

void On(State& state, const Dies& event, Actions& actions) {
  Process* const process = Find(state, event.process);
  if (process == nullptr || process->state == LeaseState::kDying) return;
  process->state = LeaseState::kDying;
  process->until = After(state.now, state.settings.death_wait);
  process->room_wish.reset();
  for (Lease& lease : process->leases.values) lease.recall.reset();
  const bool holds = std::any_of(kPlaces.begin(), kPlaces.end(),
                                 [&](Place place) { return Held(*process, place) > Bytes(); });
  if (!holds) Forget(state, process->id, actions);
}

void On(State& state, const BytesGone& event, Actions& actions) {
  const Process* const process = Find(state, event.process);
  if (process != nullptr && process->state == LeaseState::kDying) {
    Forget(state, process->id, actions);
  }
}

void On(State& state, const IsStuck& event, Actions&) {
  Process* const process = Find(state, event.process);
  if (process != nullptr) Suspend(*process);
}

void On(State& state, const Beats& event, Actions&) {
  Process* const process = Find(state, event.process);
  if (process != nullptr && process->stuck) Resume(state, *process);
}

void On(State& state, const Measured& event, Actions& actions) {
  Process* const process = Find(state, event.process);
  if (process == nullptr) return;
  if (process->state == LeaseState::kDying) {
    if (event.bytes == Bytes()) return;
    // It is there yet, whatever it hangs in. More than was thought is excused, less is no matter.
    process->until = After(state.now, state.settings.death_wait);
    process->measured = std::max(process->measured, event.bytes);
    NoteExcess(state, Place::kDevice);
    return;
  }
  const Bytes before = Free(state, Place::kDevice);
  process->measured = event.bytes;
  // The program's own context was there before it could ask for room: with that and a mover's, an
  // honest one holds 1.1 GiB beside its grant (H200).
  const Bytes capacity = state.pools[Place::kDevice].capacity;
  const Bytes contexts = 2 * std::min(MiB(544), Bytes(capacity.value / 16));
  const Bytes beside = std::max(process->room, contexts);
  const Bytes may = Plus(process->leases[Place::kDevice].grant, beside);
  const Bytes over = Minus(event.bytes, may);
  const bool overruns = over > state.settings.overrun;
  if (overruns != process->overran) {
    process->overran = overruns;
    actions.push_back({.kind = Action::Kind::kOverrun,
                       .process = process->id,
                       .tenant = process->tenant,
                       .bytes = overruns ? over : Bytes()});
  }
  GatherFreed(state, Place::kDevice, before);
  NoteExcess(state, Place::kDevice);
}

}  // namespace vramspan::broker
