#include "tools/broker/core/facts.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"

namespace vramspan::broker {
namespace {

bool Populated(const State& state, const Tenant& tenant) {
  return !tenant.processes.empty() ||
         std::any_of(tenant.tenants.begin(), tenant.tenants.end(),
                     [&](TenantId id) { return Populated(state, state.tenants.at(id)); });
}

void SetFractions(State& state, const Tenant& tenant, uint64_t fraction) {
  // Its own processes are one among the tenants inside, however many they are.
  const size_t own = tenant.processes.size();
  uint64_t weight = own > 0 ? kDefaultWeight : 0;
  for (const TenantId id : tenant.tenants) {
    const Tenant& inside = state.tenants.at(id);
    if (Populated(state, inside)) weight += inside.policy.weight;
  }
  if (weight == 0) return;
  // Never nothing: who is compared by it is divided by it.
  const auto part = [&](uint64_t of) {
    return std::max<uint64_t>(1, static_cast<uint64_t>(Wide{fraction} * of / weight));
  };
  for (const ProcessId id : tenant.processes) {
    state.processes.at(id).fraction = std::max<uint64_t>(1, part(kDefaultWeight) / own);
  }
  for (const TenantId id : tenant.tenants) {
    const Tenant& inside = state.tenants.at(id);
    if (Populated(state, inside)) SetFractions(state, inside, part(inside.policy.weight));
  }
}

// Host memory that it is about to evict to.
Bytes Arriving(const Process& process, Place place) {
  const auto& evicted = process.leases[Place::kDevice].recall;
  return place == Place::kHost && evicted ? evicted->copied : Bytes();
}

}  // namespace

Bytes Held(const Process& process, Place place) {
  const Bytes grant = process.leases[place].grant;
  if (place == Place::kHost) return grant;
  return std::max(Plus(grant, Plus(process.room, process.room_kept)), process.measured);
}

Bytes Held(const State& state, Place place) {
  Bytes sum;
  for (const auto& [id, process] : state.processes) sum = Plus(sum, Held(process, place));
  return sum;
}

Bytes Held(const State& state, const Tenant& tenant, Place place) {
  Bytes sum;
  for (const ProcessId id : tenant.processes) {
    sum = Plus(sum, Held(state.processes.at(id), place));
  }
  for (const TenantId id : tenant.tenants) {
    sum = Plus(sum, Held(state, state.tenants.at(id), place));
  }
  return sum;
}

Bytes Burden(const Process& process, Place place) {
  return Minus(Held(process, place), process.leases[place].grant);
}

Bytes RoomLacking(const Process& process) {
  return process.room_wish ? Minus(process.room_wish->bytes, process.room_kept) : Bytes();
}

Bytes Beside(const Process& process, Place place) {
  return Plus(Burden(process, place), place == Place::kDevice ? RoomLacking(process) : Bytes());
}

Bytes Used(const Process& process, Place place) {
  return std::min(Plus(process.said.used[place], Arriving(process, place)),
                  process.leases[place].grant);
}

Bytes Demand(const Process& process, Place place) {
  // Who drains, or holds its work until its turn, needs nothing of the device.
  if (place == Place::kDevice && (process.drains || process.part.holds)) return Bytes();
  if (place == Place::kDevice) return Remembered(process);
  const Said& said = process.said;
  // Not as far as it is granted: what is granted must not make it more.
  return Plus(Plus(said.used[place], Arriving(process, place)),
              Plus(said.wanted[place], process.host_wish));
}

Bytes Remembered(const Process& process) {
  return std::max(process.demand.before, process.demand.now);
}

Bytes DemandNow(const Process& process) {
  const Said& said = process.said;
  const Bytes used = Used(process, Place::kDevice);
  return Plus(Minus(Minus(used, said.cached), said.cold), said.wanted[Place::kDevice]);
}

void RememberDemand(State& state) {
  for (auto& [id, process] : state.processes) {
    // What it will need when it has its turn.
    if (process.part.holds) continue;
    RememberedDemand& demand = process.demand;
    if (demand.end <= state.now) {
      demand = {.before = demand.now, .end = After(state.now, state.settings.demand_window)};
    }
    demand.now = std::max(demand.now, DemandNow(process));
  }
}

bool Responds(const Process& process) {
  if (process.stuck) return false;
  switch (process.state) {
    case LeaseState::kAdmitted:
    case LeaseState::kSteady:
    case LeaseState::kRecalling:
    case LeaseState::kPartial:
      return true;
    case LeaseState::kOverdue:
    case LeaseState::kFenced:
    case LeaseState::kDying:
    case LeaseState::kAdopted:
      return false;
  }
  return false;
}

bool EndsItsWork(const State& state, const Process& process) {
  return process.part.holds && After(process.part.held, state.settings.turns.drain) > state.now;
}

bool MayBeLent(const State& state, const Process& process, Place place) {
  const bool due = place == Place::kHost || !(process.overran || process.drains);
  return Responds(process) && due && !process.leases[place].recall &&
         process.leases[place].rest_until <= state.now;
}

Bytes Room(const State& state, Place place) {
  const Pool& pool = state.pools[place];
  const Bytes reserve = place == Place::kDevice ? state.settings.Reserve(pool.capacity) : Bytes();
  return Minus(pool.capacity, Plus(pool.foreign, reserve));
}

Bytes Excess(const State& state, Place place) {
  return Minus(Held(state, place), Room(state, place));
}

Bytes Free(const State& state, Place place) {
  return Minus(Room(state, place), Held(state, place));
}

Bytes Coming(const State& state, Place place) {
  Bytes sum;
  for (const auto& [id, process] : state.processes) {
    const Lease& lease = process.leases[place];
    if (lease.recall && Responds(process)) sum = Plus(sum, lease.recall->bytes);
  }
  return sum;
}

Bytes PlainShare(const State& state, const Process& process, Place place) {
  return std::max(PartOf(Room(state, place), process.fraction, kWhole),
                  state.tenants.at(process.tenant).policy.guarantee[place]);
}

Bytes BelowLimits(const State& state, const Process& process, Place place) {
  Bytes least = kAllBytes;
  for (TenantId id = process.tenant; id != kRoot;) {
    const Tenant& tenant = state.tenants.at(id);
    const Bytes limit = tenant.policy.limit[place];
    if (limit != kAllBytes) least = std::min(least, Minus(limit, Held(state, tenant, place)));
    id = tenant.parent;
  }
  return least;
}

bool IsInside(const State& state, TenantId tenant, TenantId around) {
  while (tenant != around && tenant != kRoot) tenant = state.tenants.at(tenant).parent;
  return tenant == around;
}

int Depth(const State& state, TenantId tenant) {
  int depth = 0;
  for (; tenant != kRoot; tenant = state.tenants.at(tenant).parent) ++depth;
  return depth;
}

Process* Find(State& state, ProcessId id) {
  const auto found = state.processes.find(id);
  return found == state.processes.end() ? nullptr : &found->second;
}

Tenant* Find(State& state, TenantId id) {
  const auto found = state.tenants.find(id);
  return found == state.tenants.end() ? nullptr : &found->second;
}

void SetDrains(State& state) {
  for (auto& [id, process] : state.processes) {
    process.drains = process.drained || state.tenants.at(kRoot).drained;
    for (TenantId at = process.tenant; at != kRoot && !process.drains;) {
      const Tenant& tenant = state.tenants.at(at);
      process.drains = tenant.drained;
      at = tenant.parent;
    }
  }
}

void SetFractions(State& state) { SetFractions(state, state.tenants.at(kRoot), kWhole); }

}  // namespace vramspan::broker
