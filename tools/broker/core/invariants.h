// What holds after every event, whatever processes say and do. Tests check it, and so does Decide
// in builds with VRAMSPAN_DCHECK.
//
//   I1  What is held, foreign use and the reserve are no more than the capacity. What came above it
//       by a cause outside only shrinks, and is being recalled as far as anybody can be asked.
//   I2  Who has less than its guarantee and its demand gets it from what those hold who answer:
//       whoever can be asked was asked, and it does not last.
//   I3  Nobody waits for the broker longer than a request for room may.
//   I4  While the broker does not know everybody, nobody's grant changes.
//
// And that the state makes sense: leases, recalls, turns, and the tree of tenants.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_INVARIANTS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_INVARIANTS_H_

#include <string>

#include "tools/broker/core/state.h"

namespace vramspan::broker {

// Which does not hold, and for whom. Empty: all hold.
std::string BrokenInvariant(const State& state);

// invariant_shortage.cc: I1 and I2, as far as it is about who was asked.
std::string BrokenShortage(const State& state);

// What the process could evict now, of a slice, for the host has room for it.
Bytes CouldEvict(const State& state, const Process& process, Bytes free_host);
// What could be had from the process if `wish` were asked of it: written anew, and simpler than the
// rules that ask.
Bytes CouldGive(const State& state, const Process& process, Place place, Bytes wish,
                Bytes free_host);

// invariant_guarantee.cc: I2, as far as it is about how long it lasts. It knows no targets, so it
// sees one that is too low.
std::string BrokenGuarantee(const State& state);

// Device memory that the tenant could have: free, or held by processes who answer, beyond what is
// guaranteed to them. Where a limit around it is reached, only by those inside of that.
Bytes ToBeHad(const State& state, const Tenant& tenant);

// Remembers since when tenants have less than their guarantee though there is something to be had.
void NoteShortage(State& state);

// How long a tenant may have less than its guarantee while others could give it. Guarantees are met
// one behind the other, and are no more than the capacity together. Each slice takes its time, and
// each process may be silent and unwilling before.
Duration GuaranteeBound(const State& state);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_INVARIANTS_H_
