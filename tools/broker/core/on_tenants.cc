// Tenants come and go, and their policies change. Admission: no promise that cannot be kept.
#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/handlers.h"

namespace vramspan::broker {
namespace {

Bytes Guaranteed(const State& state, const Tenant& parent, Place place, TenantId without) {
  Bytes sum;
  for (const TenantId id : parent.tenants) {
    if (id != without) sum = Plus(sum, state.tenants.at(id).policy.guarantee[place]);
  }
  return sum;
}

// What the children of a tenant may be guaranteed together.
Bytes ToGuarantee(const State& state, const Tenant& parent, Place place) {
  if (parent.id != kRoot) return parent.policy.guarantee[place];
  const Bytes capacity = state.pools[place].capacity;
  return place == Place::kDevice ? Minus(capacity, state.settings.Reserve(capacity)) : capacity;
}

// Why a tenant of that parent cannot have that policy.
Refusal Admit(const State& state, const Tenant& parent, TenantId id, const Policy& policy) {
  if (policy.weight < 1 || policy.weight > kMostWeight) return Refusal::kPolicy;
  const auto tenant = state.tenants.find(id);
  for (const Place place : kPlaces) {
    const Bytes guarantee = policy.guarantee[place];
    if (guarantee > policy.limit[place]) return Refusal::kPolicy;
    const Bytes all = Plus(guarantee, Guaranteed(state, parent, place, id));
    // What it was promised before may stay, whatever came of the capacity.
    const bool grows =
        tenant == state.tenants.end() || guarantee > tenant->second.policy.guarantee[place];
    if (guarantee > Bytes() && grows && all > ToGuarantee(state, parent, place)) {
      return Refusal::kGuarantee;
    }
    if (tenant != state.tenants.end() &&
        Guaranteed(state, tenant->second, place, TenantId()) > guarantee) {
      return Refusal::kGuarantee;
    }
  }
  return Refusal::kNone;
}

void RefuseTenant(TenantId tenant, Refusal refusal, Actions& actions) {
  actions.push_back({.kind = Action::Kind::kRefuse, .tenant = tenant, .refusal = refusal});
}

}  // namespace

void On(State& state, const TenantAppears& event, Actions& actions) {
  if (Find(state, event.tenant) != nullptr) {
    RefuseTenant(event.tenant, Refusal::kKnown, actions);
    return;
  }
  Tenant* const parent = Find(state, event.parent);
  const Refusal refusal =
      parent == nullptr ? Refusal::kUnknown : Admit(state, *parent, event.tenant, event.policy);
  if (refusal != Refusal::kNone) {
    RefuseTenant(event.tenant, refusal, actions);
    return;
  }
  parent->tenants.push_back(event.tenant);
  state.tenants[event.tenant] = {
      .id = event.tenant, .parent = event.parent, .policy = event.policy, .drained = event.drained};
}

void On(State& state, const TenantLeaves& event, Actions& actions) {
  const Tenant* const tenant = Find(state, event.tenant);
  if (tenant == nullptr) return;
  if (tenant->id == kRoot || !tenant->tenants.empty() || !tenant->processes.empty()) {
    RefuseTenant(event.tenant, Refusal::kInUse, actions);
    return;
  }
  std::erase(state.tenants.at(tenant->parent).tenants, event.tenant);
  state.tenants.erase(event.tenant);
}

void On(State& state, const PolicyChanges& event, Actions& actions) {
  Tenant* const tenant = Find(state, event.tenant);
  Refusal refusal = Refusal::kNone;
  if (tenant == nullptr) {
    refusal = Refusal::kUnknown;
  } else if (tenant->id == kRoot) {
    refusal = Refusal::kPolicy;
  } else {
    refusal = Admit(state, state.tenants.at(tenant->parent), event.tenant, event.policy);
  }
  if (refusal != Refusal::kNone) {
    RefuseTenant(event.tenant, refusal, actions);
    return;
  }
  tenant->policy = event.policy;
  SetFractions(state);
}

void On(State& state, const TenantDrains& event, Actions&) {
  Tenant* const tenant = Find(state, event.tenant);
  if (tenant == nullptr) return;
  tenant->drained = event.drained;
  SetDrains(state);
}

void On(State& state, const ProcessDrains& event, Actions&) {
  Process* const process = Find(state, event.process);
  if (process == nullptr) return;
  process->drained = event.drained;
  SetDrains(state);
}

}  // namespace vramspan::broker
