// Which frees a stream comes behind, by the events that the program records and waits for. The
// driver's pools hand memory out again to a stream that comes behind its free
// (CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES), and so do ours.
//
// Frees are numbered. A stream knows of each other one the last free that it comes behind, and an
// event what its stream knew when it was recorded: vector clocks (F. Mattern, "Virtual Time and
// Global States of Distributed Systems", 1988).
//
// A hint: graphs record events where nobody sees it, and handles come again. Who goes by it has the
// stream wait for the free as well, which costs no time where the hint is right.
//
// Bounded: of more than so many it forgets some. Threads: not safe.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDER_H_
#define VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDER_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <cstdint>

namespace vramspan::preload {

class StreamOrder {
 public:
  static constexpr size_t kMostStreams = 1024, kMostEvents = 4096, kMostKnown = 64;

  // Streams are known by ids that never come again, events by their handles.
  using Event = const void*;

  // The stream frees memory: the free's number.
  uint64_t Freed(uint64_t stream);
  void Recorded(Event event, uint64_t stream);
  void Waits(uint64_t stream, Event event);
  void Destroyed(Event event) { events_.erase(event); }
  // Whether what the stream gets from now on comes behind that free of another.
  bool IsBehind(uint64_t stream, uint64_t other, uint64_t free) const;
  // All frees have taken effect: nobody asks for them any more.
  void Forget();

 private:
  struct Known {
    uint64_t stream, free;
  };
  using Clock = absl::InlinedVector<Known, 4>;

  static void Note(Clock* clock, const Known& known);
  Clock& ClockOf(uint64_t stream);

  uint64_t last_ = 0;
  absl::flat_hash_map<uint64_t, Clock> streams_;
  absl::flat_hash_map<Event, Clock> events_;
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDER_H_
