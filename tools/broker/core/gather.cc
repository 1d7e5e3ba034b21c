#include "tools/broker/core/gather.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"

namespace vramspan::broker {

void GatherFreed(State& state, Place place, Bytes before) {
  const Bytes freed = Minus(Free(state, place), before);
  if (freed == Bytes()) return;
  Pool& pool = state.pools[place];
  pool.gathered = Plus(pool.gathered, freed);
  // Later ones join: who waits for the first waits no longer for them.
  if (!pool.gather_until) pool.gather_until = After(state.now, state.settings.gather);
}

void EndGathering(State& state, Place place) {
  Pool& pool = state.pools[place];
  if (!pool.gather_until || *pool.gather_until > state.now) return;
  pool.gathered = Bytes();
  pool.gather_until.reset();
}

void EndKeeping(State& state) {
  const Bytes before = Free(state, Place::kDevice);
  for (auto& [id, process] : state.processes) {
    // The dead have all that they held until it is gone.
    if (process.state == LeaseState::kDying || process.room_kept_until > state.now) continue;
    process.room_kept = Bytes();
  }
  GatherFreed(state, Place::kDevice, before);
}

Bytes ToGive(const State& state, Place place) {
  Bytes kept = state.pools[place].gathered;
  // What some wait for that is no chunk.
  for (const auto& [id, process] : state.processes) {
    if (place == Place::kDevice) kept = Plus(kept, RoomLacking(process));
  }
  return Minus(Free(state, place), kept);
}

Bytes Kept(const State& state, Place place) {
  if (place == Place::kDevice) return Bytes();
  return PartOf(Room(state, place), state.settings.host_kept_percent, 100);
}

void NoteExcess(State& state, Place place) {
  Pool& pool = state.pools[place];
  pool.excess = std::max(pool.excess, Excess(state, place));
}

void LowerExcess(State& state, Place place) {
  Pool& pool = state.pools[place];
  pool.excess = std::min(pool.excess, Excess(state, place));
}

}  // namespace vramspan::broker
