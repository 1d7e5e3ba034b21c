#include "tests/broker/simulation/reference.h"

#include <algorithm>
#include <vector>

#include "tools/broker/core/facts.h"

namespace vramspan::broker::simulation {
namespace {

struct Due {
  double weight, hard, floor, ceiling;
};

double Number(Bytes bytes) { return static_cast<double>(bytes.value); }

std::vector<double> Share(double capacity, const std::vector<Due>& dues) {
  std::vector<double> result(dues.size());
  double floors = 0;
  for (const Due& due : dues) floors += due.floor;
  // Between two fillings of the same kind: the hard parts and the floors, or those and the level.
  const auto fill = [&](double x) {
    double sum = 0;
    for (size_t i = 0; i < dues.size(); ++i) {
      const Due& due = dues[i];
      result[i] = floors > capacity ? due.hard + (due.floor - due.hard) * std::min(x, 1.0)
                                    : std::clamp(x * due.weight, due.floor, due.ceiling);
      sum += result[i];
    }
    return sum;
  };
  double low = 0, high = 1e20;
  for (int i = 0; i < 250; ++i) {
    const double middle = (low + high) / 2;
    (fill(middle) > capacity ? high : low) = middle;
  }
  fill(low);
  return result;
}

struct Reference {
  const State& state;
  std::map<ProcessId, double> grants;

  Due Of(const Process& process) const {
    double held = Number(Held(process, Place::kDevice));
    held += Number(RoomLacking(process));
    if (!Responds(process)) return {kDefaultWeight, held, held, held};
    const double burden = held - Number(process.leases[Place::kDevice].grant);
    double most = 1e30;
    if (process.overran) most = Number(PlainShare(state, process, Place::kDevice));
    const double wish = burden + Number(Demand(process, Place::kDevice));
    return {kDefaultWeight, burden, burden, std::max(burden, std::min(wish, most))};
  }
  Due Of(const Tenant& tenant) const {
    Due due = Together(Inside(tenant), tenant.policy.weight);
    const double guarantee = std::min(Number(tenant.policy.guarantee[Place::kDevice]), due.ceiling);
    due.ceiling = std::min(due.ceiling, Number(tenant.policy.limit[Place::kDevice]));
    due.ceiling = std::max(due.ceiling, due.hard);
    due.floor = std::min(std::max(due.floor, guarantee), due.ceiling);
    return due;
  }
  static Due Together(const std::vector<Due>& dues, uint32_t weight) {
    Due due{static_cast<double>(weight), 0, 0, 0};
    for (const Due& inside : dues) {
      due.hard += inside.hard;
      due.floor += inside.floor;
      due.ceiling += inside.ceiling;
    }
    return due;
  }
  std::vector<Due> OfProcesses(const Tenant& tenant) const {
    std::vector<Due> dues;
    for (const ProcessId id : tenant.processes) dues.push_back(Of(state.processes.at(id)));
    return dues;
  }
  std::vector<Due> Inside(const Tenant& tenant) const {
    std::vector<Due> dues;
    for (const TenantId id : tenant.tenants) dues.push_back(Of(state.tenants.at(id)));
    dues.push_back(Together(OfProcesses(tenant), kDefaultWeight));
    return dues;
  }
  void Deal(const Tenant& tenant, double amount) {
    const std::vector<double> shares = Share(amount, Inside(tenant));
    size_t i = 0;
    for (const TenantId id : tenant.tenants) Deal(state.tenants.at(id), shares[i++]);
    const std::vector<double> own = Share(shares[i], OfProcesses(tenant));
    i = 0;
    for (const ProcessId id : tenant.processes) {
      grants[id] = own[i++] - Number(Beside(state.processes.at(id), Place::kDevice));
    }
  }
};

}  // namespace

std::map<ProcessId, double> ReferenceGrants(const State& state) {
  Reference reference{state, {}};
  reference.Deal(state.tenants.at(kRoot), Number(Room(state, Place::kDevice)));
  return reference.grants;
}

}  // namespace vramspan::broker::simulation
