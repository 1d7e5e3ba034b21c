// Which budgets follow from what a broker has said.
//
// Pure.
#ifndef VRAMSPAN_RUNTIME_API_LEASE_RULE_H_
#define VRAMSPAN_RUNTIME_API_LEASE_RULE_H_

#include <algorithm>

#include "runtime/base/units.h"
#include "runtime/lease/client.h"

namespace vramspan {

struct Budgets {
  Bytes device, host;
  bool operator==(const Budgets&) const = default;
};

struct LeaseBounds {
  Budgets alone;     // Without a broker.
  Budgets ceilings;  // What the user allows, or the machine has: no grant makes it more.
};

// `before`: the budgets until now.
inline Budgets BudgetsOf(const lease::Standing& standing, const LeaseBounds& bounds,
                         const Budgets& before) {
  // There was never an answer: nobody shares anything out.
  if (standing.absent) return bounds.alone;
  Budgets budgets = before;
  // Until there is a first word nothing of the device is ours. Later none is taken from under what
  // a broker that is gone has granted.
  const Bytes granted = std::min(standing.device(), bounds.ceilings.device);
  budgets.device = Bytes(granted.value & ~(kGranularity.value - 1));
  // Without a word of the host's memory what there is stays: evictions need somewhere to go.
  const Bytes host = standing.told_host ? standing.host() : before.host;
  budgets.host = std::min(host, bounds.ceilings.host);
  return budgets;
}

// What no grant exceeds: the tenant's limits, where it was told of any, and the ceilings.
inline Budgets MostOf(const lease::Standing& standing, const LeaseBounds& bounds) {
  const auto least = [](Bytes limit, Bytes ceiling) {
    return limit == Bytes(0) ? ceiling : std::min(limit, ceiling);
  };
  return {least(standing.device_limit, bounds.ceilings.device),
          least(standing.host_limit, bounds.ceilings.host)};
}

// Of what is wanted beyond `budget`, what a grant can help with.
inline Bytes WantWithin(Bytes wanted, Bytes most, Bytes budget) {
  return std::min(wanted, most - std::min(most, budget));
}

// What a context most likely takes, asked for before it is made: 524 MiB on an H100 (measured), and
// no more than a part of a small device. What is not needed goes back.
inline Bytes RoomForContext(Bytes total) { return std::min(MiB(544), Bytes(total.value / 16)); }

// Who comes to a full device is granted next to nothing at first, and has its chunks for life. A
// choice: it is one of eight, or will have as much.
inline Bytes ExpectedShare(Bytes total) { return Bytes(total.value / 8); }

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LEASE_RULE_H_
