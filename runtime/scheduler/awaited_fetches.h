// A launch that may touch an unmapped chunk waits until the chunk is mapped on the host again. If
// one of the next launches needs the chunk on the device, it waits for that fetch instead, and the
// host mapping is skipped. The launch waits until the deadline. While nothing moves and nothing
// runs, the launch waits a short time only: no fetch is coming. A wait in vain holds such waits
// back for a while.
//
// Pure: no clock, no lock, no look at a chunk. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_AWAITED_FETCHES_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_AWAITED_FETCHES_H_

#include <vector>

#include "runtime/base/units.h"
#include "runtime/scheduler/backoff.h"

namespace vramspan {

// What a launch has of it.
struct AwaitedFetch {
  Instant since;   // It waits for chunks to get a mapping; the default: it does not.
  Instant active;  // Anything moved or ran, last seen then.
  std::vector<ChunkIndex> chunks;  // It waits for these to be fetched instead.
};

class AwaitedFetches {
 public:
  // The wait while nothing moves and nothing runs is shorter than the deadline by this.
  static constexpr int kStillShare = 64;

  explicit AwaitedFetches(Duration deadline) : deadline_(deadline) {}

  enum class Answer : uint8_t {
    kMap,     // Map the chunk on the host.
    kInVain,  // The same, and for the chunks that the launch waits for: their fetches do not come.
    kWait,    // A fetch may come: wait for it if one of the next launches needs the chunk.
  };
  // A launch comes upon an unmapped chunk, or looks again. `active`: anything moves or runs.
  // `in_place`: the launch is to run with its memory where it is.
  Answer Look(bool active, bool in_place, Instant now, AwaitedFetch* launch);
  // The plan says that a fetch which a launch waits for does not come now.
  void NotPlanned(Instant now) { backoff_.Failed(deadline_ / kStillShare, now); }
  // A launch that waited for fetches is released.
  void Came() { backoff_.Succeeded(); }
  // If nothing moves or runs until then, the launch waits in vain.
  Instant Due(const AwaitedFetch& launch) const {
    return launch.active + deadline_ / kStillShare + Duration(1);
  }

 private:
  const Duration deadline_;
  Backoff backoff_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_AWAITED_FETCHES_H_
