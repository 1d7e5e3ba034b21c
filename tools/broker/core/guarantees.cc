#include "tools/broker/core/guarantees.h"

#include <algorithm>
#include <vector>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/ladder.h"
#include "tools/broker/core/recalls.h"
#include "tools/broker/core/shares.h"

namespace vramspan::broker {
namespace {

constexpr Place kDevice = Place::kDevice;

// What recalls from those inside will bring.
Bytes Coming(const State& state, const Tenant& tenant) {
  Bytes sum;
  for (const ProcessId id : tenant.processes) {
    const Process& process = state.processes.at(id);
    const auto& recall = process.leases[kDevice].recall;
    if (recall && Responds(process)) sum = Plus(sum, recall->bytes);
  }
  for (const TenantId id : tenant.tenants) sum = Plus(sum, Coming(state, state.tenants.at(id)));
  return sum;
}

Bytes BelowLimit(const State& state, const Tenant& tenant) {
  return Minus(tenant.policy.limit[kDevice], Held(state, tenant, kDevice));
}

// What those inside would be given of what comes. What nobody takes would go back to who gave it.
Bytes WouldTake(const State& state, const Tenant& tenant) {
  const Bytes below = BelowLimit(state, tenant);
  // Nobody is given less than a chunk.
  if (below < state.settings.chunk) return Bytes();
  Bytes sum;
  for (const ProcessId id : tenant.processes) {
    const Lease& lease = state.processes.at(id).leases[kDevice];
    if (lease.hungry && !lease.recall) sum = Plus(sum, Minus(lease.target, lease.grant));
  }
  for (const TenantId id : tenant.tenants) sum = Plus(sum, WouldTake(state, state.tenants.at(id)));
  return std::min(sum, below);
}

// What has to come yet, that the tenant has its guarantee.
Bytes Lacks(const State& state, const Tenant& tenant) {
  const Bytes below = BelowGuarantee(state, tenant, kDevice);
  if (below == Bytes()) return Bytes();
  const Bytes wanted = std::min(below, WouldTake(state, tenant));
  if (wanted == Bytes()) return Bytes();
  // What is held beyond the room, and rooms, come before.
  Bytes all = Plus(wanted, Excess(state, kDevice));
  for (const auto& [id, process] : state.processes) all = Plus(all, RoomLacking(process));
  Bytes lacks = Minus(all, Plus(Free(state, kDevice), Coming(state, kDevice)));
  // Within a limit that is reached, what is free helps nobody.
  for (TenantId id = tenant.id; id != kRoot;) {
    const Tenant& around = state.tenants.at(id);
    if (around.policy.limit[kDevice] != kAllBytes) {
      const Bytes to_come = Plus(BelowLimit(state, around), Coming(state, around));
      lacks = std::max(lacks, Minus(wanted, to_come));
    }
    id = around.parent;
  }
  return lacks;
}

// What `tenant` may get from the process, for the limits around it.
Bytes LimitsLeave(const State& state, const Tenant& tenant, const Process& from) {
  Bytes least = kAllBytes;
  for (TenantId id = tenant.id; id != kRoot && !IsInside(state, from.tenant, id);) {
    const Tenant& around = state.tenants.at(id);
    if (around.policy.limit[kDevice] != kAllBytes) {
      const Bytes enters = Minus(Coming(state, kDevice), Coming(state, around));
      least = std::min(least, Minus(BelowLimit(state, around), enters));
    }
    id = around.parent;
  }
  return least;
}

// What the process may lose to `to`: all tenants that it alone is inside of keep what they are
// due anyway.
Bytes MayLose(const State& state, const Process& process, const Tenant& to) {
  Bytes least = process.leases[kDevice].grant;
  for (TenantId id = process.tenant; !IsInside(state, to.id, id);) {
    const Tenant& tenant = state.tenants.at(id);
    const Bytes kept = Plus(DueAnyway(state, tenant, kDevice), Coming(state, tenant));
    least = std::min(least, Minus(Held(state, tenant, kDevice), kept));
    id = tenant.parent;
  }
  return std::min(least, LimitsLeave(state, to, process));
}

// Somebody above its target can give, if not at once.
bool AnybodyYetGives(const State& state, const Tenant& to) {
  const Bytes free_host = ToGive(state, Place::kHost);
  return std::any_of(state.processes.begin(), state.processes.end(), [&](const auto& entry) {
    const Process& process = entry.second;
    return !IsInside(state, process.tenant, to.id) && MayYetGive(state, process, free_host) &&
           LimitsLeave(state, to, process) >= state.settings.chunk;
  });
}

// Those who can give something to the tenant now, in the order in which they are asked.
std::vector<Candidate> Givers(State& state, const Tenant& to, Bytes need) {
  const Bytes free_host = ToGive(state, Place::kHost);
  std::vector<Candidate> givers;
  for (auto& [id, process] : state.processes) {
    if (IsInside(state, process.tenant, to.id)) continue;
    const Bytes most = MayLose(state, process, to);
    if (most < state.settings.chunk) continue;
    const auto candidate = ToGiveBack(state, process, kDevice, most, need, free_host);
    if (candidate) givers.push_back(*candidate);
  }
  PutInOrder(state, givers);
  return givers;
}

void RecallFor(State& state, const Tenant& to, Actions& actions) {
  const Bytes chunk = state.settings.chunk;
  Bytes need = Lacks(state, to);
  if (need < chunk || AnybodyYetGives(state, to)) return;
  for (const Candidate& giver : Givers(state, to, need)) {
    Process& process = state.processes.at(giver.process);
    const Bytes most = MayLose(state, process, to);
    if (most >= chunk) Ask(state, process, kDevice, most, need, actions);
    need = Lacks(state, to);
    if (need < chunk) return;
  }
}

}  // namespace

void RecallForGuarantees(State& state, Actions& actions) {
  // Host memory is for those above their targets. Who is at its own asks for none.
  std::vector<Bytes> wishes;
  wishes.reserve(state.processes.size());
  for (const auto& [id, process] : state.processes) wishes.push_back(process.host_wish);
  for (const auto& [id, tenant] : state.tenants) {
    if (id != kRoot) RecallFor(state, tenant, actions);
  }
  size_t i = 0;
  for (auto& [id, process] : state.processes) process.host_wish = wishes[i++];
}

}  // namespace vramspan::broker
