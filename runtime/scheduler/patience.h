// When waiting for memory ends. Held work waits until its chunks are in place. Work that cannot be
// served in time runs with its memory where it is. Every placement is correct, so patience costs
// time only.
//
// Work in flight may take long, or may itself wait for held work. The first is worth waiting for.
// The second never ends. So the wait grows with what work was seen to take. When the wait is over,
// few pieces of work are released first, and more each time.
//
// Pure: no clock, no lock, no chunk. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_PATIENCE_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_PATIENCE_H_

#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/base/units.h"

namespace vramspan {

class Patience {
 public:
  // How far the wait may grow: with the longest run seen, and with what running kernels may take.
  static constexpr Duration kMostSeen = std::chrono::milliseconds(500);
  static constexpr Duration kMostKnown = 4 * kMostSeen;
  // So much more work is released each time, from one on.
  static constexpr size_t kGrowth = 16;
  // While a thread is blocked in submission the deadline is shorter by this.
  static constexpr int kBlockedShare = 8;
  // The slowest link: a head is not starved while its memory may be on its way at this rate.
  static constexpr Bytes kLeastPerNanosecond = Bytes(1);

  explicit Patience(Duration deadline) : deadline_(deadline) {}

  Duration deadline() const { return deadline_; }

  // --- what happened; times never go back ---
  // Something was released, began to move, arrived or ended.
  void Progressed(Instant now) { progress_ = now; }
  Instant progress() const { return progress_; }  // The last.
  // The first held work, whenever that may have changed.
  void HeadIs(uint64_t work, Instant now);
  // Work that was released at `released` has ended.
  void Ended(uint64_t work, Instant released, Instant now);
  // A look at what has ended is over; Ended was called for what had. `in_flight`: anything was,
  // before the look.
  void Looked(bool in_flight, Instant now);

  // --- what follows ---
  // How things stand, for a decision.
  struct Situation {
    bool blocked =
        false;            // A thread is blocked in submission, and nothing runs that would free it.
    bool moving = false;  // Moves are under way. They always end, but for a shared context's.
    Duration known{0};    // What the work that runs may take, by its history.
    Bytes wanted;         // By the head.
    size_t queued = 0;    // Held work; the head is the first.
  };
  struct Verdict {
    size_t in_place = 0;         // So much held work runs with its memory where it is.
    bool detach_copies = false;  // A context's copies may be stuck behind its parked streams.
  };
  // False: no verdict is due, however things stand.
  bool MayBeDue(Instant now) const { return now - head_since_ >= deadline_ / kBlockedShare; }
  // REQUIRES: something is held, and HeadIs told what. A verdict that helps nobody comes again
  // after as long a wait.
  Verdict Check(const Situation& at, Instant now);
  // Work that a verdict concerned does run so.
  void RunsInPlace(Instant now) { Disturb(now); }
  // When a verdict comes as things stand, for work that is stuck.
  Instant Due(const Situation& at) const;
  // Nothing moves for a head that got nothing for too long, before it has gone.
  bool Starved(uint64_t work) const { return work == starved_; }
  // What ends now may have waited for what a verdict released: it says nothing of how long it runs.
  bool Disturbed(Instant now) const { return disturbed_ && now - disturbed_at_ < deadline_; }

 private:
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  Duration Wait(const Situation& at) const;
  void Disturb(Instant now);

  const Duration deadline_;
  Instant progress_;
  uint64_t head_ = kNone;
  Instant head_since_;
  uint64_t starved_ = kNone;
  // The longest run seen, from its release or the end of what ran before it.
  Duration longest_{0};
  Instant last_end_;
  // Of the look that goes on.
  bool any_ended_ = false, old_ended_ = false;
  Duration ran_{0};
  // Work in flight takes its time for other reasons than its own, from the verdict on until
  // something ends that was released before it.
  bool disturbed_ = false;
  Instant disturbed_at_;
  uint64_t disturbed_from_ = 0;
  size_t next_ = 1;  // How much work the next verdict releases.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_PATIENCE_H_
