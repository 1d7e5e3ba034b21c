#include "runtime/scheduler/patience.h"

#include <algorithm>

namespace vramspan {
namespace {

// Far longer than the wait that is thought to be enough.
constexpr int kFarTooLate = 10;

}  // namespace

void Patience::HeadIs(uint64_t work, Instant now) {
  if (work == head_) return;
  head_ = work;
  head_since_ = now;
}

void Patience::Ended(uint64_t work, Instant released, Instant now) {
  any_ended_ = true;
  old_ended_ |= work < disturbed_from_;
  ran_ = std::max(ran_, now - std::max(last_end_, released));
}

void Patience::Looked(bool in_flight, Instant now) {
  if (any_ended_ || !in_flight) {
    if (!disturbed_) longest_ = std::max(longest_, ran_);
    last_end_ = now;
    // What was released may end while what it was released for still runs, or waits for more.
    if (!disturbed_ || old_ended_ || !in_flight) {
      disturbed_ = false;
      next_ = 1;
    }
  }
  any_ended_ = old_ended_ = false;
  ran_ = Duration(0);
}

Duration Patience::Wait(const Situation& at) const {
  if (at.blocked) return deadline_ / kBlockedShare;
  return std::max({deadline_, std::min(2 * longest_, kMostSeen), std::min(at.known, kMostKnown)});
}

void Patience::Disturb(Instant now) {
  if (!disturbed_) disturbed_from_ = head_;
  disturbed_ = true;
  disturbed_at_ = now;
}

Instant Patience::Due(const Situation& at) const {
  return std::max(progress_, head_since_) + Wait(at);
}

Patience::Verdict Patience::Check(const Situation& at, Instant now) {
  if (at.blocked) Disturb(now);
  const Duration wait = Wait(at);
  const Duration waited = now - std::max(progress_, head_since_);
  Verdict verdict;
  verdict.detach_copies = waited > kFarTooLate * wait;
  const bool stuck = !at.moving && waited >= wait;
  // Others may make progress for ever while the head gets none.
  const bool starved =
      now - head_since_ > kFarTooLate * wait + Duration(at.wanted / kLeastPerNanosecond);
  if (starved) starved_ = head_;
  if (!stuck && !starved) return verdict;
  // Ever more: what runs may wait for work far down the queue, or may just be long, and then all
  // that runs with its memory on the host does so in vain. Not so where threads are blocked:
  // whatever they wait for is in the queue.
  verdict.in_place = !stuck ? 1 : at.blocked ? at.queued : next_;
  if (stuck && !at.blocked && next_ < at.queued) next_ *= kGrowth;
  if (stuck) progress_ = now;
  return verdict;
}

}  // namespace vramspan
