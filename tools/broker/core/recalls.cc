#include "tools/broker/core/recalls.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/grants.h"
#include "tools/broker/core/ladder.h"
#include "tools/broker/core/shares.h"
#include "tools/broker/core/turns.h"

namespace vramspan::broker {
namespace {

// What the tenant would hold if the hungry inside were served, less what recalls inside will bring.
Bytes Served(const State& state, const Tenant& tenant, Place place) {
  Bytes sum, coming;
  for (const ProcessId id : tenant.processes) {
    const Process& process = state.processes.at(id);
    const Lease& lease = process.leases[place];
    sum = Plus(sum, Held(process, place));
    if (lease.hungry) sum = Plus(sum, Minus(lease.target, lease.grant));
    if (lease.recall && Responds(process)) coming = Plus(coming, lease.recall->bytes);
  }
  for (const TenantId id : tenant.tenants) {
    sum = Plus(sum, Served(state, state.tenants.at(id), place));
  }
  return Minus(sum, coming);
}

void Send(State& state, const Candidate& candidate, Place place, Actions& actions) {
  Process& process = state.processes.at(candidate.process);
  if (candidate.host_room > Bytes()) {
    Raise(process, Place::kHost, candidate.host_room, actions);
  }
  if (candidate.copied > Bytes()) GiveEvictTurn(state, process.id, actions);
  ++process.revision.value;
  const Recall recall{.revision = process.revision,
                      .bytes = candidate.bytes,
                      .copied = candidate.copied,
                      .sent = state.now,
                      .deadline = After(state.now, state.settings.deadline)};
  process.leases[place].recall = recall;
  process.state = LeaseState::kRecalling;
  actions.push_back({.kind = Action::Kind::kRecall,
                     .process = process.id,
                     .tenant = process.tenant,
                     .place = place,
                     .revision = recall.revision,
                     .bytes = recall.bytes,
                     .copied = recall.copied,
                     .deadline = recall.deadline});
}

}  // namespace

void SetHungry(State& state, Place place) {
  const Settings& settings = state.settings;
  for (auto& [id, process] : state.processes) {
    Lease& lease = process.leases[place];
    const Bytes lacking = Minus(lease.target, lease.grant);
    if (!Responds(process) || lacking < settings.chunk) {
      lease.hungry = false;
      lease.short_since.reset();
      continue;
    }
    if (!lease.short_since) lease.short_since = state.now;
    const Bytes little =
        Plus(settings.chunk, PartOf(lease.target, settings.hysteresis_percent, 100));
    // What is recalled on the host is in nobody's use: no copy need be saved.
    lease.hungry = lease.hungry || place == Place::kHost || lacking > little ||
                   After(*lease.short_since, settings.patience) <= state.now ||
                   BelowGuarantee(state, process, place) > Bytes();
  }
}

Bytes Lacking(const State& state, Place place) {
  Bytes sum = Excess(state, place);
  for (const auto& [id, process] : state.processes) {
    const Lease& lease = process.leases[place];
    if (lease.hungry) sum = Plus(sum, Minus(lease.target, lease.grant));
    if (place == Place::kDevice) sum = Plus(sum, RoomLacking(process));
  }
  return Minus(sum, Plus(Free(state, place), Coming(state, place)));
}

Bytes Owed(const State& state, const Process& process, Place place) {
  Bytes owed;
  if (process.drains && place == Place::kDevice) owed = process.leases[place].grant;
  if (process.overran && place == Place::kDevice) {
    owed = std::max(owed, Minus(Held(process, place), PlainShare(state, process, place)));
  }
  for (TenantId id = process.tenant; id != kRoot;) {
    const Tenant& tenant = state.tenants.at(id);
    const Bytes limit = tenant.policy.limit[place];
    if (limit != kAllBytes) owed = std::max(owed, Minus(Served(state, tenant, place), limit));
    id = tenant.parent;
  }
  return owed;
}

Bytes Ask(State& state, Process& process, Place place, Bytes most, Bytes need, Actions& actions) {
  const auto candidate = ToGiveBack(state, process, place, most, need, ToGive(state, Place::kHost));
  if (!candidate) return Bytes();
  Send(state, *candidate, place, actions);
  return candidate->bytes;
}

void RecallForOthers(State& state, Place place, Actions& actions) {
  if (place == Place::kDevice) {
    for (auto& [id, process] : state.processes) process.host_wish = Bytes();
  }
  for (auto& [id, process] : state.processes) {
    const Bytes owed = Owed(state, process, place);
    if (owed > Bytes()) Ask(state, process, place, Surplus(process, place), owed, actions);
  }
  Bytes need = Lacking(state, place);
  // What is held beyond the room is recalled to the byte.
  const bool exact = Excess(state, place) > Bytes();
  const auto enough = [&] { return need == Bytes() || (need < state.settings.chunk && !exact); };
  if (enough()) return;
  for (const ProcessId id : ToBeAsked(state, place, need)) {
    Process& process = state.processes.at(id);
    need = Minus(need, Ask(state, process, place, Surplus(process, place), need, actions));
    if (enough()) return;
  }
}

}  // namespace vramspan::broker
