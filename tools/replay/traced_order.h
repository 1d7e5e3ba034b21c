// The calls of a trace in one order: what lives where at each of them, and so which pieces of
// allocations work, moves and comparisons name. From that a run is made.
//
// Threads: one. Errors: ResourceExhausted, with the place, beyond the limits.
#ifndef VRAMSPAN_TOOLS_REPLAY_TRACED_ORDER_H_
#define VRAMSPAN_TOOLS_REPLAY_TRACED_ORDER_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tools/replay/recorded_run.h"
#include "tools/replay/run_limits.h"
#include "tools/replay/trace_events.h"
#include "tools/replay/trace_problems.h"

namespace vramspan::replay {

class TracedOrder {
 public:
  // `problems` outlives it.
  TracedOrder(const RunLimits& limits, TracedEvents events, TraceProblems* problems);
  // Once. Fills all of `run` but its setting and problems.
  Status Build(RecordedRun* run);

 private:
  Status Allocate(const TracedCall& call);
  void Free(const TracedCall& call);
  Status Work(const TracedCall& call);
  Status Discard(const TracedCall& call);
  // False where nothing that lives now is there.
  bool Move(const trace::MoveEvent& e);
  // What is compared is a chunk, so it lies in one allocation, whose end it may be behind.
  void Compare(const trace::CompareEvent& e, uint32_t last);

  void End(uint32_t allocation, uint64_t time);
  // Adds the pieces of allocations that the range is, if it is any.
  void Place(const trace::TracedRange& r, std::vector<RecordedRange>* out);
  // The same of a raw set, into ranges_.
  Status PlaceSet(const TracedCall& call, uint32_t set);
  void PutTimes();

  struct Placed {
    size_t allocations = 0;
    uint64_t epoch = ~uint64_t{0};
    uint32_t set = 0;
  };

  const RunLimits limits_;
  TracedEvents events_;
  TraceProblems& problems_;
  RecordedRun* run_ = nullptr;
  std::vector<uint32_t> order_;                                         // Work's index in the run.
  std::vector<bool> move_placed_;                                       // By move.
  absl::flat_hash_map<uint32_t, std::vector<size_t>> compared_behind_;  // By their last work.
  std::map<DevicePtr, uint32_t> live_;
  uint64_t epoch_ = 0;                            // Counts frees.
  absl::flat_hash_map<uint32_t, Placed> placed_;  // By raw set.
  std::vector<RecordedRange> ranges_;    // Of the set that is placed: the likely ones, then
  std::vector<RecordedRange> possible_;  // those that are only possible. Here first.
  std::set<uint32_t> unowned_;           // Allocations of which any may be nobody's.
  uint64_t kept_ranges_ = 0, pieces_ = 0, named_ = 0, granules_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TRACED_ORDER_H_
