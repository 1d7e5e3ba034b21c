// Launches that name more than the device has room for. They run with part of it on the host, and
// what lies on the device has come there first, not because it is worth most.
//
// Of nothing better being known, each argument is taken to be read as often as the others, so a
// byte of a small one is worth more there: the ranks of a graph beside its edges, a vector beside a
// matrix. What is read at random comes from the host at a thousandth of its speed on the device.
// Where the guess is wrong, half the room's bytes cross for the launch at most.
//
// Else hardly anything can come for such a launch once it has filled the room itself. A plan finds
// that out each time, while the launch waits: some 0.2 ms for 8 GiB. So it is not asked.
//
// Pure: no clock, no lock.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_LARGE_WORKS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_LARGE_WORKS_H_

#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

// Where the launch names more than `room`: has that served where it lies (`wanted.in_place`) which
// is not to come. That is all but the small arguments while it lacks some of those; else all of it,
// where little of the room is others'. Whether it did. Only its likely uses count, not the possible
// ones.
bool ServeLarge(Work* work, const Residency& residency, Bytes room);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_LARGE_WORKS_H_
