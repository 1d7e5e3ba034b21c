// Which budgets follow from what a broker has said, and what is to be said to it.
//
// Pure: runtimes and replays share it.
#ifndef VRAMSPAN_RUNTIME_LEASE_LEASE_RULE_H_
#define VRAMSPAN_RUNTIME_LEASE_LEASE_RULE_H_

#include <algorithm>

#include "runtime/base/units.h"
#include "runtime/lease/pages.h"
#include "runtime/lease/standing.h"

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

// What a process has of both memories, and has put there.
struct HeldMemory {
  Bytes device_used, device_cached, device_budget;
  Bytes host_used, host_cached, host_budget;
  Bytes allocated;       // As the driver would charge it, were it plain device memory.
  bool on_host = false;  // Host memory has backed something.
  Bytes needed;          // What no budget has room for, and is waited for.
};

// What of the host memory is to be free while some data live there: a pipeline of moves' worth.
inline constexpr Bytes kRoomToMove = MiB(256);

// What it says of itself. `most`: as MostOf has it. `budgets`: as they are to be.
inline lease::ProcessPage PageOf(const HeldMemory& held, const Budgets& most,
                                 const Budgets& budgets) {
  lease::ProcessPage page;
  page.cached = held.device_cached;
  page.used_device = held.device_used + held.device_cached;
  page.used_host = held.host_used + held.host_cached;
  page.wanted_device = page.wanted_host = held.needed;
  // A budget that was lowered, and a host without room for what is to leave.
  const Bytes beyond = held.device_used - std::min(held.device_used, held.device_budget);
  const Bytes room = held.host_budget - std::min(held.host_budget, held.host_used);
  page.wanted_host += beyond - std::min(beyond, room);
  if (held.on_host) {
    // Without a place to evict to nothing comes to the device either: what is on the host would be
    // served from there for ever.
    const Bytes spare = std::min(kRoomToMove, most.host);
    const Bytes left = room - std::min(room, beyond);
    page.wanted_host += spare - std::min(spare, left);
    // What is not on the device. Host memory also holds copies of what is.
    const Bytes off_device = held.allocated - std::min(held.allocated, held.device_used);
    page.wanted_device += std::min(held.host_used, off_device);
  }
  // What is not allowed is nothing that a grant could help.
  page.wanted_device = WantWithin(page.wanted_device, most.device, budgets.device);
  page.wanted_host = WantWithin(page.wanted_host, most.host, budgets.host);
  return page;
}

// What is known of a process's work.
struct WorkSeen {
  uint64_t works = 0;    // Pieces that were submitted and recorded, in all.
  uint64_t stalled = 0;  // Nanoseconds that work has waited for memory, in all.
  bool may_hold = false, runs = false, waits = false;
};

// And what it says of that.
inline void SayWork(const WorkSeen& work, lease::ProcessPage* page) {
  page->works = work.works;
  page->stalled = work.stalled;
  page->flags = (work.may_hold ? lease::ProcessPage::kHolds : 0) |
                (work.runs ? lease::ProcessPage::kRuns : 0) |
                (work.waits ? lease::ProcessPage::kWaits : 0);
}

// What a context most likely takes, asked for before it is made: 524 MiB on an H100 (measured), and
// no more than a part of a small device. What is not needed goes back.
inline Bytes RoomForContext(Bytes total) { return std::min(MiB(544), Bytes(total.value / 16)); }

// What a process asks for before it has allocated anything: where all is lent, its first data are
// not to live on the host until the broker has heard of them. A choice.
inline Budgets FirstWants(const Budgets& most) {
  return {std::min(MiB(512), Bytes(most.device.value / 16)),
          std::min(GiB(1), Bytes(most.host.value / 16))};
}

// Who comes to a full device is granted next to nothing at first, and has its chunks for life. A
// choice: it is one of eight, or will have as much.
inline Bytes ExpectedShare(Bytes total) { return Bytes(total.value / 8); }

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_LEASE_LEASE_RULE_H_
