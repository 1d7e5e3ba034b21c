// What follows from the state: who holds what, what is free, who can be asked.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_FACTS_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_FACTS_H_

#include "runtime/base/units.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

// What it was granted and allowed, or was seen to hold if that is more.
Bytes Held(const Process& process, Place place);
Bytes Held(const State& state, Place place);
Bytes Held(const State& state, const Tenant& tenant, Place place);
// What of it is no grant: contexts, and what it took beyond its grant. No recall gets that back.
Bytes Burden(const Process& process, Place place);
// What it lacks of the room that it waits for: what it returned lately is kept for it.
Bytes RoomLacking(const Process& process);
// What its share has to hold before anything is granted: that, and the room that it waits for.
Bytes Beside(const Process& process, Place place);
// What of the grant the process itself uses, as it said; on the host also what it is to evict.
Bytes Used(const Process& process, Place place);
// What it needs, of the device also what it needed lately; nothing if it drains. Who wants much and
// little by turns keeps its share, and others' memory is not moved for each turn.
Bytes Demand(const Process& process, Place place);
// What it needed lately of the device; of who holds its work, before that.
Bytes Remembered(const Process& process);
// What it needs of the device now: used and touched, or wanted. One that drains as well.
Bytes DemandNow(const Process& process);
// Remembers that. Called at each event.
void RememberDemand(State& state);

// It answers, as far as is known. The memory of others counts as fixed.
bool Responds(const Process& process);
// It was told to hold its work, and may yet have some to end before its memory can go.
bool EndsItsWork(const State& state, const Process& process);
// It answers, nothing is on its way from it, and it has taken no more than it was granted.
bool MayBeLent(const State& state, const Process& process, Place place);

// What may be held at all, and how much is held beyond it, or below.
Bytes Room(const State& state, Place place);
Bytes Excess(const State& state, Place place);
Bytes Free(const State& state, Place place);
// Bytes that recalls will bring, if those who were asked answer.
Bytes Coming(const State& state, Place place);

// Its share of the room by weights alone, or its guarantee if that is more.
Bytes PlainShare(const State& state, const Process& process, Place place);
// How much more the process may hold before a limit around it is reached.
Bytes BelowLimits(const State& state, const Process& process, Place place);

// Whether the tenant is `around`, or inside of it.
bool IsInside(const State& state, TenantId tenant, TenantId around);
// How deep the tenant lies: 1 inside of the root.
int Depth(const State& state, TenantId tenant);

Process* Find(State& state, ProcessId id);
Tenant* Find(State& state, TenantId id);
// Works out Process::fraction, after tenants, processes or weights changed.
void SetFractions(State& state);
// Works out Process::drains, after tenants or processes came, or drain otherwise.
void SetDrains(State& state);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_FACTS_H_
