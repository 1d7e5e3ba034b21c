// When work may run: as memory lies, when it comes; and once it is held, when its memory is in
// place.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_READINESS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_READINESS_H_

#include <cstdint>

#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/trials.h"
#include "runtime/scheduler/unmapped_chunks.h"
#include "runtime/scheduler/work.h"

namespace vramspan {

// How things stand around work.
struct Conditions {
  bool moving = false;   // Moves are under way.
  bool running = false;  // Released work runs.
  bool draining =
      false;          // Traced work from before tracking runs: its chunks' users come to be known.
  bool dead = false;  // A kernel has killed the context: nothing runs any more.
  uint32_t unmapped = 0;  // So many chunks are.
  uint32_t lost = 0;      // So many chunks have lost their mapping by an error.
  Instant now;
};

class Readiness {
 public:
  // All outlive it. `trials`: null where none are made.
  Readiness(const Residency* residency, UnmappedChunks* unmapped, Trials* trials)
      : residency_(*residency), unmapped_(*unmapped), trials_(trials) {}

  // Whether new work may run as memory lies, without a look at anybody else.
  bool RunsAsItIs(const Work& work, const Conditions& at) const;
  // Whether held work has its memory, whatever moves beside it.
  bool HasItsMemory(const Work& work, const Conditions& at) const;
  // Whether held work may run. Where it waits for mappings, asks for them; `wants_others` is set
  // where what it has fetched for others has changed.
  bool Ready(Work* work, const Conditions& at, bool* wants_others);

 private:
  bool NoneMoves(absl::Span<const ChunkUse> uses) const;
  // What moves may lose its mapping until that is mended.
  bool NoneIsLost(absl::Span<const ChunkUse> uses) const;

  const Residency& residency_;
  UnmappedChunks& unmapped_;
  Trials* const trials_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_READINESS_H_
