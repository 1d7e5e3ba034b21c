// How long recorded work takes longer with a chunk on the host.
#ifndef VRAMSPAN_TOOLS_REPLAY_SERVED_TIME_H_
#define VRAMSPAN_TOOLS_REPLAY_SERVED_TIME_H_

#include "tools/replay/chunked_run.h"
#include "tools/replay/replay_result.h"
#include "tools/replay/timing.h"
#include "tools/replay/virtual_memory.h"

namespace vramspan::replay {

class ServedTime {
 public:
  // All outlive it.
  ServedTime(const ChunkedRun* chunks, const Timing* timing, const VirtualMemory* memory,
             const ReplayPrices& prices)
      : chunks_(*chunks), timing_(*timing), memory_(*memory), prices_(prices) {}

  // What work touches of a chunk, each byte once, and how much its ranges name in sum.
  struct Touched {
    Bytes once, named;
    bool write = false;
  };
  Touched TouchedIn(uint32_t set, ChunkIndex chunk) const;
  // How long one pass over that takes where the chunk is on the host, in nanoseconds.
  double Pass(uint32_t work, ChunkIndex chunk, const Touched& touched) const;
  // And all passes of the work.
  double All(uint32_t work, ChunkIndex chunk) const {
    const uint32_t set = chunks_.run().works[work].set;
    return timing_.Passes(work) * Pass(work, chunk, TouchedIn(set, chunk));
  }
  // What moving it takes instead.
  double Move(ChunkIndex chunk) const {
    return prices_.decisions.MoveNanoseconds(chunks_.size(chunk));
  }

 private:
  const ChunkedRun& chunks_;
  const Timing& timing_;
  const VirtualMemory& memory_;
  const ReplayPrices prices_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SERVED_TIME_H_
