// Who is asked to give memory back, and how much: what costs least comes first.
//
//   1. memory that can be given back as it is: not used, or cached
//   2. clean memory: the host has it already
//   3. memory of those who have touched none for long
//   4. that of the victim: class batch first, then who uses most for its weight, as in GPUswap
//
// Who has less than a slice on one rung fills it up from the next ones: it is asked where the slice
// ends.
//
// Nobody goes below its target for another, but for a guarantee that nobody above its own can give
// (guarantees.h). The victim's own planner picks the chunks.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_LADDER_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_LADDER_H_

#include <optional>
#include <vector>

#include "runtime/base/units.h"
#include "tools/broker/core/state.h"

namespace vramspan::broker {

struct Candidate {
  ProcessId process;
  bool small = false;  // It has less than a chunk to give: who has more is asked before.
  int rung = 0;
  Bytes bytes;
  Bytes copied;     // What of them goes to the host,
  Bytes host_room;  // and how much it has to be granted there for that.
};

// What the process was granted beyond its target.
Bytes Surplus(const Process& process, Place place);

// What the process can give of `need` bytes of the device or the host, and of the `most` that it
// may lose, where so much host memory is free to evict to. Nothing: it cannot be asked now. A
// victim that lacks host memory has that in its Process::host_wish. Host memory in use is never
// asked for.
std::optional<Candidate> ToGiveBack(const State& state, Process& process, Place place, Bytes most,
                                    Bytes need, Bytes free_host);

// Whether the process gives some of its surplus of the device by itself in a while: when the link
// is its own, when it is asked again, or when the host memory comes that is due to it.
bool MayYetGive(const State& state, const Process& process, Bytes free_host);

// Puts them in the order in which they are asked.
void PutInOrder(const State& state, std::vector<Candidate>& candidates);

// All who can give something of `need` bytes now, in the order in which they are asked. Whether the
// later ones still can, ToGiveBack says when it is their turn.
std::vector<ProcessId> ToBeAsked(State& state, Place place, Bytes need);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_LADDER_H_
