// Shares the memory out: down the tree of tenants to their processes, by water-filling.
//
// What a process holds that cannot be had back is the hard part of its share, and of the shares of
// the tenants that it is inside of. So nobody gets more by stopping a process, or by not answering.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_SHARES_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_SHARES_H_

#include "runtime/base/units.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// What is shared out, and to whom.
enum class Wish : uint8_t {
  kDemand,  // All of the room, to those who demand it: Lease::target.
  kAll,     // What is granted stays, what may be lent goes to everybody up to the limits:
            // Lease::lent.
};

// What may be lent, of the memory that is free.
Bytes ToLend(const State& state, Place place);

// Works the shares out for all processes.
void ShareOut(State& state, Place place, Wish wish);

// What the tenant is to have whatever others want: its guarantee, as far as it demands that, and as
// far as it should have it. REQUIRES: targets are worked out.
Bytes DueAnyway(const State& state, const Tenant& tenant, Place place);
// What the tenant lacks of its guarantee and its demand, if that is a chunk or more and it should
// have it: a limit around it may be used up by who does not answer. REQUIRES: targets are worked
// out.
Bytes BelowGuarantee(const State& state, const Tenant& tenant, Place place);
// The most that a tenant lacks which the process is inside of: of those that are so deep or deeper.
Bytes BelowGuarantee(const State& state, const Process& process, Place place, int depth = 1);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_SHARES_H_
