#include "tools/broker/core/shares.h"

#include <algorithm>
#include <vector>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/water.h"

namespace vramspan::broker {
namespace {

// What tenants and processes are due, from their processes upwards.
class Dues {
 public:
  Dues(const State& state, Place place, Wish wish) : state_(state), place_(place), wish_(wish) {}

  // Its tenants' first. Its own processes' are the last, as one: more of them bring it no more.
  std::vector<Share> Inside(const Tenant& tenant) const {
    std::vector<Share> shares;
    shares.reserve(tenant.tenants.size() + 1);
    for (const TenantId id : tenant.tenants) shares.push_back(Of(state_.tenants.at(id)));
    if (!tenant.processes.empty()) {
      shares.push_back(Together(OfProcesses(tenant), kDefaultWeight));
    }
    return shares;
  }

  std::vector<Share> OfProcesses(const Tenant& tenant) const {
    std::vector<Share> shares;
    shares.reserve(tenant.processes.size());
    for (const ProcessId id : tenant.processes) shares.push_back(Of(state_.processes.at(id)));
    return shares;
  }

  Share Of(const Tenant& tenant) const {
    Share sum = Together(Inside(tenant), tenant.policy.weight);
    const Bytes guaranteed = std::min(tenant.policy.guarantee[place_], sum.ceiling);
    sum.ceiling = std::max(sum.hard, std::min(tenant.policy.limit[place_], sum.ceiling));
    sum.floor = std::min(std::max(sum.floor, guaranteed), sum.ceiling);
    return sum;
  }

 private:
  Share Of(const Process& process) const {
    const Bytes beside = Beside(process, place_);
    const Bytes held = Plus(process.leases[place_].grant, beside);
    const bool lends = wish_ == Wish::kAll;
    if (lends ? !MayBeLent(state_, process, place_) : !Responds(process)) {
      return Between(held, held);
    }
    // Host memory in use has nowhere to go.
    const Bytes used = place_ == Place::kHost ? Used(process, place_) : Bytes();
    const Bytes hard = lends ? held : Plus(beside, used);
    const Bytes wish = lends ? kAllBytes : Plus(beside, Demand(process, place_));
    const bool overran = process.overran && place_ == Place::kDevice;
    const Bytes most = overran ? PlainShare(state_, process, place_) : kAllBytes;
    Share share = Between(hard, std::max(hard, std::min(wish, most)));
    // What gives way to others comes before what others would like to have.
    if (place_ == Place::kHost && !lends) {
      share.floor = std::min(Plus(hard, process.host_wish), share.ceiling);
    }
    return share;
  }

  static Share Together(const std::vector<Share>& shares, uint32_t weight) {
    Share sum{.weight = weight};
    for (const Share& share : shares) {
      sum.hard = Plus(sum.hard, share.hard);
      sum.floor = Plus(sum.floor, share.floor);
      sum.ceiling = Plus(sum.ceiling, share.ceiling);
    }
    return sum;
  }

  static Share Between(Bytes hard, Bytes ceiling) {
    return {.weight = kDefaultWeight, .hard = hard, .floor = hard, .ceiling = ceiling};
  }

  const State& state_;
  const Place place_;
  const Wish wish_;
};

// Shares `amount` out among all that is inside the tenant.
void Deal(State& state, const Tenant& tenant, Bytes amount, Place place, Wish wish) {
  const Dues dues(state, place, wish);
  std::vector<Share> shares = dues.Inside(tenant);
  Waterfill(amount, shares);
  size_t i = 0;
  for (const TenantId id : tenant.tenants) {
    Deal(state, state.tenants.at(id), shares[i++].share, place, wish);
  }
  if (tenant.processes.empty()) return;
  const Bytes own = shares[i].share;
  shares = dues.OfProcesses(tenant);
  Waterfill(own, shares);
  i = 0;
  for (const ProcessId id : tenant.processes) {
    Process& process = state.processes.at(id);
    Lease& lease = process.leases[place];
    const Bytes granted = Minus(shares[i++].share, Beside(process, place));
    (wish == Wish::kDemand ? lease.target : lease.lent) = granted;
  }
}

// What the tenant would hold at its processes' targets.
Bytes Targeted(const State& state, const Tenant& tenant, Place place) {
  Bytes sum;
  for (const ProcessId id : tenant.processes) {
    const Process& process = state.processes.at(id);
    sum = Plus(sum, Plus(process.leases[place].target, Burden(process, place)));
  }
  for (const TenantId id : tenant.tenants) {
    sum = Plus(sum, Targeted(state, state.tenants.at(id), place));
  }
  return sum;
}

}  // namespace

Bytes ToLend(const State& state, Place place) {
  return Minus(ToGive(state, place), Kept(state, place));
}

void ShareOut(State& state, Place place, Wish wish) {
  const Tenant& root = state.tenants.at(kRoot);
  Bytes amount = Plus(Held(state, place), ToLend(state, place));
  if (wish == Wish::kDemand) {
    // What is kept is for floors alone: guarantees, and what victims are to evict.
    const Bytes floors = Dues(state, place, wish).Of(root).floor;
    const Bytes room = Room(state, place);
    amount = std::max(Minus(room, Kept(state, place)), std::min(room, floors));
  }
  Deal(state, root, amount, place, wish);
}

Bytes DueAnyway(const State& state, const Tenant& tenant, Place place) {
  const Bytes guarantee = tenant.policy.guarantee[place];
  if (guarantee == Bytes()) return Bytes();
  const Share share = Dues(state, place, Wish::kDemand).Of(tenant);
  return std::min({guarantee, share.ceiling, Targeted(state, tenant, place)});
}

Bytes BelowGuarantee(const State& state, const Tenant& tenant, Place place) {
  const Bytes lacking = Minus(DueAnyway(state, tenant, place), Held(state, tenant, place));
  return lacking >= state.settings.chunk ? lacking : Bytes();
}

Bytes BelowGuarantee(const State& state, const Process& process, Place place, int depth) {
  Bytes most;
  int inside = Depth(state, process.tenant);
  for (TenantId id = process.tenant; id != kRoot && inside >= depth; --inside) {
    const Tenant& tenant = state.tenants.at(id);
    most = std::max(most, BelowGuarantee(state, tenant, place));
    id = tenant.parent;
  }
  return most;
}

}  // namespace vramspan::broker
