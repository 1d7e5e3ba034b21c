#include <absl/strings/str_cat.h>

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/invariants.h"
#include "tools/broker/core/recalls.h"
#include "tools/broker/core/turns.h"

namespace vramspan::broker {

Bytes CouldEvict(const State& state, const Process& process, Bytes free_host) {
  const Lease& host = process.leases[Place::kHost];
  const Bytes kept = Minus(host.grant, host.recall ? host.recall->bytes : Bytes());
  const Bytes free = std::min(free_host, BelowLimits(state, process, Place::kHost));
  const Bytes room = std::max(Plus(Minus(kept, process.said.used[Place::kHost]), free),
                              Minus(kept, PlainShare(state, process, Place::kHost)));
  return std::min(room, state.settings.slice);
}

Bytes CouldGive(const State& state, const Process& process, Place place, Bytes wish,
                Bytes free_host) {
  if (!Responds(process)) return Bytes();
  const Bytes at_hand = Minus(process.leases[place].grant, process.said.used[place]);
  if (place == Place::kHost) {
    const auto& evicted = process.leases[Place::kDevice].recall;
    return std::min(wish, Minus(at_hand, evicted ? evicted->copied : Bytes()));
  }
  const Bytes no_copy = Plus(Plus(at_hand, process.said.cached), process.said.clean);
  return std::min(wish, Plus(no_copy, CouldEvict(state, process, free_host)));
}

namespace {

// Somebody could be asked, and was not.
std::string BrokenAsking(const State& state, Place place) {
  const Bytes need = Lacking(state, place);
  const bool exact = Excess(state, place) > Bytes();
  if (need == Bytes() || (need < state.settings.chunk && !exact)) return {};
  const Bytes free_host = ToGive(state, Place::kHost);
  for (const auto& [id, process] : state.processes) {
    const Lease& lease = process.leases[place];
    if (lease.recall || lease.retry_at > state.now) continue;
    const Bytes surplus = Minus(lease.grant, lease.target);
    const Bytes bytes = CouldGive(state, process, place, std::min(need, surplus), free_host);
    if (bytes == Bytes() || bytes < std::min({state.settings.chunk, surplus, need})) continue;
    const Bytes at_hand = Plus(Plus(Minus(lease.grant, process.said.used[place]),
                                    place == Place::kDevice ? process.said.cached : Bytes()),
                               place == Place::kDevice ? process.said.clean : Bytes());
    const ProcessId evicts = Evicts(state);
    const bool copies = at_hand < std::min({state.settings.chunk, surplus, need});
    if (copies && evicts && evicts != id) continue;
    return absl::StrCat("I2: ", need.value, " bytes are lacking, and process ", id.value,
                        " was not asked for ", bytes.value);
  }
  return {};
}

}  // namespace

std::string BrokenShortage(const State& state) {
  if (state.adopting_until) return {};
  for (const Place place : kPlaces) {
    if (std::string broken = BrokenAsking(state, place); !broken.empty()) return broken;
  }
  return {};
}

}  // namespace vramspan::broker
