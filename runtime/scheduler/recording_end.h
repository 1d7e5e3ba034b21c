// When recording ends again. While all memory is on the device, to record work costs the program
// some microseconds a launch and tells nothing that anybody needs.
//
// To begin again costs, too: for milliseconds no work is let in, and what was known of the queue is
// gone. So an end that memory's next shortage follows soon doubles the patience.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_RECORDING_END_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_RECORDING_END_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "runtime/base/units.h"

namespace vramspan {

class RecordingEnd {
 public:
  // Choices, tried on train.py and gpt2.py of bench/programs alone. `kSoon`, `kLate`: in patiences,
  // a rest that was too short, and one that was long.
  static constexpr Duration kLeast = std::chrono::milliseconds(100);
  static constexpr Duration kMost = std::chrono::minutes(1);
  static constexpr int kSoon = 8;
  static constexpr int kLate = 64;

  explicit RecordingEnd(Duration least = kLeast) : least_(least), patience_(least) {}

  // Recording begins, for the first time or again.
  void Began(Instant now) {
    quiet_since_.reset();
    if (!ended_.has_value()) return;
    const Duration rested = now - *ended_;
    if (rested < patience_ * kSoon) {
      patience_ = std::min(patience_ * 2, std::max(kMost, least_));
    } else if (rested >= patience_ * kLate) {
      patience_ = std::max(patience_ / 2, least_);
    }
  }
  void Ended(Instant now) { ended_ = now; }

  // A look. `quiet`: nothing moves, is held or is left without a mapping. `acts`: how much was
  // moved or held so far. True: it may end, if nothing is on the host.
  bool May(bool quiet, uint64_t acts, Instant now) {
    if (!quiet || acts != acts_ || !quiet_since_.has_value()) {
      acts_ = acts;
      quiet_since_.reset();
      if (quiet) quiet_since_ = now;
      wait_ = patience_;
      return false;
    }
    return now - *quiet_since_ >= wait_;
  }
  // Something was on the host, or a thread was in the way: looked at again after twice as long.
  void NotYet(Instant now) {
    quiet_since_ = now;
    wait_ = std::min(wait_ * 2, std::max(kMost, least_));
  }

  Duration patience() const { return patience_; }

 private:
  const Duration least_;
  Duration patience_;
  Duration wait_ = patience_;
  std::optional<Instant> ended_;
  std::optional<Instant> quiet_since_;
  uint64_t acts_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_RECORDING_END_H_
