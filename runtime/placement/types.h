// What the planner sees and what it answers. Pure values: no driver, no clock, no lock; the runtime
// and the replay tool fill the same structures and so get the same decisions.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_TYPES_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_TYPES_H_

#include <absl/types/span.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

// What a chunk's place on the device is worth, by the program's advice.
enum class Claim : uint8_t {
  kNone,      // Leaves first, whoever names it, and is never fetched: it is served in place.
  kOrdinary,  // As the queue and the policy have it.
  kKeep,      // Leaves only for PlanRequest::must_free, after all others.
};

// A chunk as the planner sees it.
struct ChunkView {
  Bytes size;
  bool on_device = false;  // Lies there, or best said of one that is on its way there as well: then
                           // its room is taken already and it lacks nothing.
  bool busy = false;       // Being moved, or released work that has not finished may touch it: it
                           // can be neither evicted nor fetched yet.
  bool incoming = false;   // With both: on its way there.
  bool movable = true;     // May be moved at all (not pinned, users known).
  bool empty = false;      // Not busy, and holds nothing: it leaves and comes without a copy.
  bool prefer_host = false;  // Serve in place: do not fetch for work.
  Claim claim = Claim::kOrdinary;
};

// Looks chunks up for the planner. Must answer the same for the length of one Make call.
class ResidencyView {
 public:
  virtual ~ResidencyView() = default;
  virtual ChunkView Get(ChunkIndex chunk) const = 0;
  // The chunks of which Get may answer otherwise than it did in the planner's Make before (in its
  // first: all that are on the device), where that is known: the others are not asked for again.
  // Nothing: it may be any.
  virtual std::optional<absl::Span<const ChunkIndex>> Changed() const { return std::nullopt; }
};

// One queued piece of work: the chunks it will touch, each once.
struct QueuedWork {
  // Whose it is, to who keeps the queue: the planner looks at neither.
  uint64_t id = 0;
  uint64_t kernel = 0;
  absl::Span<const ChunkIndex> chunks;
  // Expected run time in any unit that the whole queue and PlanRequest::per_byte share; 1 for all
  // where it is not known.
  uint64_t duration = 1;
  // The program asked for its chunks to be on the device: that is more than any advice, and they
  // are fetched, and claimed, as if there were none.
  bool explicit_request = false;
  // Not 0: whatever a planner is shown with this version names the same chunks, in the same order,
  // so that it need not compare them. It may be another for the same chunks.
  uint64_t version = 0;
};

struct PlanRequest {
  // Work in the order in which it runs: first what is released and has not finished, then what is
  // held, whose first is called the head. Look-ahead ends with the work whose chunks take the
  // distinct bytes seen beyond `horizon`, the head at the earliest.
  absl::Span<const QueuedWork> queue;
  // Not 0: all requests of this version have the same queue, so that it need not be compared.
  uint64_t queue_version = 0;
  // Not 0, where the planner's request before had this version: of that queue the first
  // `queue_gone` works have gone, and the `queue_same` works behind them are the first of this one.
  // Behind those, in place of `queue_left` works of that queue there are `queue_came` others, and
  // then come the next `queue_tail` of that queue. What else was in it is compared.
  uint64_t queue_since = 0;
  size_t queue_gone = 0, queue_same = 0, queue_left = 0, queue_came = 0, queue_tail = 0;
  // How many works of the queue are released. They say how far off the held work is: without them
  // a head that lacks something is fetched for at once, however much runs before it, and a chunk
  // that the queue needs soon may leave too early. Their chunks are expected to be busy.
  uint32_t released = 0;
  // Device bytes that may be filled right away.
  Bytes room;
  // Device bytes that moves in progress will set free; counted for fetches that may wait.
  Bytes room_coming;
  // A cycle is recognised only where the look-ahead spans it: what was just used is needed last,
  // and beyond the horizon nobody knows. Cut it short only for the planner's own time.
  Bytes horizon;
  // Bytes over budget that must go whoever needs them (a budget that was lowered), beyond those
  // that moves in progress will set free.
  Bytes must_free;
  // Bytes that may be fetched ahead of need at the cost of chunks that the queue needs later; at
  // least what one work lacks. More keeps a link busy whose fetches are small, and costs fetches.
  Bytes ahead;
  // The time that a missing byte takes to come, with the way out of what it takes the place of. 0:
  // not known; then what comes ahead of need is spread over the queue, whether it comes in time or
  // not.
  double per_byte = 0;
  // Fetches of so many bytes can start now, the last of them beyond it; the rest wait for the link.
  // No chunk leaves for those as yet: its place would be empty until their turn comes.
  Bytes startable{std::numeric_limits<uint64_t>::max()};
  // At most this many moves are wanted now, each way; more would be stale before they start.
  uint32_t max_fetches = 0;
  uint32_t max_evictions = 0;
};

struct Plan {
  // In the order in which to start them. An eviction is only planned for a fetch that can start,
  // for must_free, or for a chunk of the head that takes the place of more than may be evicted now.
  // The first n fetches fit into the room, the room that is coming, and the evictions, less
  // must_free.
  std::vector<ChunkIndex> evict;
  std::vector<ChunkIndex> fetch;
  // Indices into the queue of work for which no more can be done: what it lacks must be served in
  // place, because its set exceeds the device and nothing that runs would help (`wait` false), and
  // so it should be released as it is, once moves of its chunks in progress have ended. Only ever
  // the head: what follows is decided when its turn comes.
  std::vector<uint32_t> in_place;
  // True when the head lacks something that is not in `fetch` and could be once work or moves in
  // flight have finished: do not give up on it yet.
  bool wait = false;
  // Something in the look-ahead has yet to come to the device, now or later.
  bool lacks = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_TYPES_H_
