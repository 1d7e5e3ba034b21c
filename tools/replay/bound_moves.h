// The moves of the bound's schedule (min_schedule.h), in virtual time: a plan for the scheduler in
// the place of a policy's.
#ifndef VRAMSPAN_TOOLS_REPLAY_BOUND_MOVES_H_
#define VRAMSPAN_TOOLS_REPLAY_BOUND_MOVES_H_

#include <deque>
#include <vector>

#include "runtime/scheduler/scheduler.h"
#include "tools/replay/active_work.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/min_schedule.h"
#include "tools/replay/served_time.h"
#include "tools/replay/virtual_memory.h"

namespace vramspan::replay {

class BoundMoves {
 public:
  // What the bound's schedule may keep of a budget: the rest is for what is fetched ahead.
  static Bytes KeptOf(Bytes budget);

  // All outlive it. `barriers`: nothing moves while work runs.
  BoundMoves(const ChunkedRun* chunks, const MinSchedule* schedule, const ServedTime* served,
             VirtualMemory* memory, bool barriers);

  void Allocated(ChunkIndex chunk);
  // Wants on the device what the schedule does not have it use in place.
  void Want(ActiveWork* a) const;
  void Submitted() { ++submitted_; }
  void Released(const ActiveWork& a);
  void Left(ChunkIndex chunk) { keeps_[chunk.value] = false; }
  // Whether work may go on that could not before.
  bool Make(Scheduler* scheduler, const Room& room, const Conditions& at, Plan* plan);

 private:
  // Of one plan.
  struct Open {
    const Scheduler& scheduler;
    Plan* plan;
    uint32_t first;  // The first work that is not released.
    Bytes room, in, out, pipeline;
  };
  // Whether a chunk that gets no place for good had better be served where it lies.
  bool Serves(uint32_t work, ChunkIndex chunk) const;
  // The idle chunk that is needed last, and after `work`; null for none.
  ChunkIndex NeededLast(const Open& open) const;
  // Room from what the schedule drops, as it is needed.
  bool MakeRoom(Open* open, Bytes size, bool for_head);
  // False: no more can be brought. `lacks`: set where any is not there.
  bool Bring(Open* open, absl::Span<const ChunkIndex> wanted, bool* lacks);
  bool BringAhead(Open* open);

  const ChunkedRun& chunks_;
  const MinSchedule& schedule_;
  const ServedTime& served_;
  VirtualMemory& memory_;
  const bool barriers_;
  std::vector<uint32_t> next_use_;    // By chunk: the work that needs it next.
  std::vector<bool> keeps_;           // By chunk: it stays.
  uint32_t submitted_ = 0;            // Works.
  uint32_t cursor_ = 0;               // Work before it needs nothing that could come.
  std::deque<ChunkIndex> droppable_;  // Chunks that do not keep their place.
  // What the work at the cursor needs, and which work that was found for.
  std::vector<ChunkIndex> wanted_;
  uint32_t wanted_for_ = kNoWork;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_BOUND_MOVES_H_
