// Which frees a stream comes behind, by the events that the program records and waits for. The
// driver's pools hand memory out again to a stream that comes behind its free
// (CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES), and so do ours.
//
// Frees are numbered. A stream knows of each other one the last free that it comes behind, and an
// event what its stream knew when it was recorded: vector clocks (F. Mattern, "Virtual Time and
// Global States of Distributed Systems", 1988).
//
// A hint: some calls that record events are not seen. Who goes by it has the stream wait for the
// free as well, which costs no time where the hint is right.
//
// Bounded: of more than so many it forgets some. Threads: any; no other lock is taken, and no call
// of the driver made, under its own.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDER_H_
#define VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDER_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <cstdint>

#include "runtime/base/mutex.h"

namespace vramspan::preload {

class StreamOrder {
 public:
  static constexpr size_t kMostStreams = 1024, kMostEvents = 4096, kMostKnown = 64;

  // Streams are known by ids that never come again, 0 for one that is not known, and events by
  // their handles.
  using Event = const void*;
  // What a stream comes behind: of each other stream all frees up to this one.
  struct Known {
    uint64_t stream, free;
  };
  using Clock = absl::InlinedVector<Known, 4>;

  static bool IsBehind(const Clock& clock, uint64_t other, uint64_t free);

  // The stream frees memory: the free's number.
  uint64_t Freed(uint64_t stream) VS_EXCLUDES(mu_);
  Clock Of(uint64_t stream) VS_EXCLUDES(mu_);
  // The event was recorded when its stream came behind that.
  void Recorded(Event event, const Clock& clock) VS_EXCLUDES(mu_);
  void Waits(uint64_t stream, Event event) VS_EXCLUDES(mu_);
  // It was destroyed, or recorded where nobody sees it.
  void Forget(Event event) VS_EXCLUDES(mu_);
  // Any of them may have been.
  void ForgetEvents() VS_EXCLUDES(mu_);
  // All frees have taken effect: nobody asks for them any more.
  void ForgetAll() VS_EXCLUDES(mu_);

  size_t streams() VS_EXCLUDES(mu_);
  size_t events() VS_EXCLUDES(mu_);

 private:
  static void Note(Clock* clock, const Known& known);
  Clock& ClockOf(uint64_t stream) VS_REQUIRES(mu_);

  Mutex mu_;
  uint64_t last_ VS_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<uint64_t, Clock> streams_ VS_GUARDED_BY(mu_);
  absl::flat_hash_map<Event, Clock> events_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_STREAM_ORDER_H_
