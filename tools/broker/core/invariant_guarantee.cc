#include <absl/strings/str_cat.h>

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/invariants.h"

namespace vramspan::broker {
namespace {

// What the process would hold if it had all that it needs, or holds if it does not answer.
Bytes Needs(const State& state, const Process& process) {
  const Bytes held = Held(process, Place::kDevice);
  if (!Responds(process)) return held;
  const Bytes needs = Plus(Burden(process, Place::kDevice), Demand(process, Place::kDevice));
  return process.overran ? std::min(needs, PlainShare(state, process, Place::kDevice)) : needs;
}

// The same for a tenant, within its limit and those inside.
Bytes Needs(const State& state, const Tenant& tenant) {
  Bytes sum;
  for (const ProcessId id : tenant.processes) {
    sum = Plus(sum, Needs(state, state.processes.at(id)));
  }
  for (const TenantId id : tenant.tenants) sum = Plus(sum, Needs(state, state.tenants.at(id)));
  return std::min(sum, tenant.policy.limit[Place::kDevice]);
}

// What the tenant is to have whatever others want. No target counts: the core made those itself.
Bytes Due(const State& state, const Tenant& tenant) {
  return std::min(tenant.policy.guarantee[Place::kDevice], Needs(state, tenant));
}

// What those outside of the tenant cannot evict, since the host is full: what it is to get may be
// there.
Bytes Immovable(const State& state, TenantId tenant, Bytes free_host) {
  Bytes sum;
  for (const auto& [id, process] : state.processes) {
    if (!Responds(process) || IsInside(state, process.tenant, tenant)) continue;
    if (CouldEvict(state, process, free_host) == state.settings.slice) continue;
    const Bytes grant = process.leases[Place::kDevice].grant;
    sum = Plus(sum, Minus(grant, CouldGive(state, process, Place::kDevice, grant, free_host)));
  }
  return sum;
}

// What those inside of `tenant` could give to `to`, and keep what they are due.
Bytes CouldGiveTo(const State& state, const Tenant& tenant, TenantId to, Bytes free_host) {
  if (tenant.id == to) return Bytes();
  Bytes sum;
  for (const ProcessId id : tenant.processes) {
    const Process& process = state.processes.at(id);
    const Bytes grant = process.leases[Place::kDevice].grant;
    sum = Plus(sum, CouldGive(state, process, Place::kDevice, grant, free_host));
  }
  for (const TenantId id : tenant.tenants) {
    sum = Plus(sum, CouldGiveTo(state, state.tenants.at(id), to, free_host));
  }
  // What stays inside is no loss.
  if (IsInside(state, to, tenant.id)) return sum;
  return std::min(sum, Minus(Held(state, tenant, Place::kDevice), Due(state, tenant)));
}

// A tenant has waited for its guarantee for too long, though there is something to be had.
std::string BrokenGuarantee(const State& state, const Tenant& tenant) {
  if (!tenant.short_since) return {};
  if (state.now - *tenant.short_since <= GuaranteeBound(state)) return {};
  return absl::StrCat("I2: tenant ", tenant.id.value, " is below its guarantee for too long, and ",
                      ToBeHad(state, tenant).value, " bytes could be had");
}

}  // namespace

Bytes ToBeHad(const State& state, const Tenant& tenant) {
  const Bytes free_host = ToGive(state, Place::kHost);
  const Tenant& root = state.tenants.at(kRoot);
  Bytes least = Plus(ToGive(state, Place::kDevice), CouldGiveTo(state, root, tenant.id, free_host));
  for (TenantId id = tenant.id; id != kRoot;) {
    const Tenant& around = state.tenants.at(id);
    const Bytes limit = around.policy.limit[Place::kDevice];
    if (limit != kAllBytes) {
      const Bytes below = Minus(limit, Held(state, around, Place::kDevice));
      least = std::min(least, Plus(below, CouldGiveTo(state, around, tenant.id, free_host)));
    }
    id = around.parent;
  }
  // What each may keep as less than a chunk is not to be had.
  const Bytes fixed = Plus(Excess(state, Place::kDevice), Immovable(state, tenant.id, free_host));
  return Minus(Minus(least, fixed), state.settings.chunk * (state.processes.size() + 1));
}

void NoteShortage(State& state) {
  for (auto& [id, tenant] : state.tenants) {
    const Bytes lacking = Minus(Due(state, tenant), Held(state, tenant, Place::kDevice));
    // Each process may lack less than a chunk.
    const bool is_short = !state.adopting_until &&
                          lacking > state.settings.chunk * (state.processes.size() + 1) &&
                          ToBeHad(state, tenant) > Bytes();
    if (!is_short) {
      tenant.short_since.reset();
    } else if (!tenant.short_since) {
      tenant.short_since = state.now;
    }
  }
}

Duration GuaranteeBound(const State& state) {
  const Settings& settings = state.settings;
  const Duration round = settings.deadline + settings.retry;
  // No device has a million slices.
  const uint64_t slices_of_all = state.pools[Place::kDevice].capacity / settings.slice + 1;
  const auto slices = static_cast<int64_t>(std::min<uint64_t>(slices_of_all, 1'000'000));
  const auto processes = static_cast<int64_t>(state.processes.size());
  // Half a slice counts as obedience.
  return 2 * round * slices + processes * (round * settings.most_refusals + settings.fence_after +
                                           settings.longest_rest);
}

std::string BrokenGuarantee(const State& state) {
  if (state.adopting_until) return {};
  for (const auto& [id, tenant] : state.tenants) {
    if (std::string broken = BrokenGuarantee(state, tenant); !broken.empty()) return broken;
  }
  return {};
}

}  // namespace vramspan::broker
