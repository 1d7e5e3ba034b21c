// The queue as a list of needs: every chunk it names within the horizon, once, at its first use.
// A sparse set stands in for a hash map: a dense vector says where in the list a chunk would be,
// and the list whether it is (P. Briggs, L. Torczon, "An efficient representation for sparse sets",
// ACM LOPLAS 2(1-4), 1993), so that nothing is cleared between scans.
//
// Metadata: 4 bytes a chunk. Threads: not safe. Indices and references hold until the next Scan.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_LOOKAHEAD_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_LOOKAHEAD_H_

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "runtime/placement/types.h"

namespace vramspan {

// A chunk that the queue names.
struct Need {
  enum class Place : uint8_t {
    kIdle,       // On the device; may leave.
    kUnclaimed,  // On the device; may leave whoever needs it.
    kBusy,       // On the device; may leave once its users have finished.
    kMissing,    // In host memory; to be fetched.
    kUnsettled,  // In host memory; to be fetched once its users have finished or its move has
                 // ended.
    kInPlace,    // In host memory; served there.
    kFixed,      // Stays where it is.
  };
  ChunkIndex chunk;
  Place place;
  Claim claim = Claim::kOrdinary;
  bool taken = false;  // Already in the plan, as an eviction.
  uint64_t size;
};

class Lookahead {
 public:
  // The first `released` works run already. They and the one after are looked at whatever the
  // horizon.
  void Scan(absl::Span<const QueuedWork> queue, uint32_t released, Bytes horizon,
            const ResidencyView& residency);

  // The number of works looked at.
  uint32_t works() const { return static_cast<uint32_t>(works_.size()) - 1; }
  bool Names(ChunkIndex chunk) const {
    if (chunk.value >= place_.size()) return false;
    const uint32_t place = place_[chunk.value];
    return place < needs_.size() && needs_[place].chunk == chunk;
  }
  // REQUIRES: Names(chunk).
  const Need& Find(ChunkIndex chunk) const { return needs_[place_[chunk.value]]; }
  // What is first needed by `work`, in its own order, and what it is the first to ask for by hand.
  absl::Span<Need> FirstNeededBy(uint32_t work) {
    return absl::MakeSpan(needs_).subspan(works_[work].first_need,
                                          works_[work + 1].first_need - works_[work].first_need);
  }
  // Indices of the needs that are kUnclaimed, in the order of first need.
  absl::Span<const uint32_t> unclaimed() const { return unclaimed_; }
  const Need& need(uint32_t index) const { return needs_[index]; }
  // False where later work by hand has claimed its chunk: the need that counts is another.
  bool Counts(uint32_t index) const { return place_[needs_[index].chunk.value] == index; }

  // The sum of the durations before `work`; of all for works().
  uint64_t Start(uint32_t work) const { return works_[work].start; }

  // Bytes that are first needed before `work` and missing, or idle, or on their way, as far as can
  // be told: busy though no released work needs them.
  uint64_t MissingBefore(uint32_t work) const { return works_[work].missing_before; }
  uint64_t IdleBefore(uint32_t work) const { return works_[work].idle_before; }
  uint64_t OnTheWayBefore(uint32_t work) const { return works_[work].on_the_way_before; }
  // Bytes on the device that are busy.
  uint64_t busy() const { return busy_; }
  // The most bytes that are missing at their first use by one work.
  uint64_t most_missing() const { return most_missing_; }

 private:
  // What lies before a work. The last entry is the end, so that differences give a work's own.
  struct Work {
    uint32_t first_need = 0;
    uint64_t start = 0;
    uint64_t missing_before = 0;
    uint64_t idle_before = 0;
    uint64_t on_the_way_before = 0;
  };

  std::vector<Need> needs_;  // In the order of first need.
  std::vector<Work> works_{Work{}};
  uint64_t busy_ = 0;
  uint64_t most_missing_ = 0;
  std::vector<uint32_t> unclaimed_;
  std::vector<uint32_t> place_;  // By chunk: its index in needs_, if it is there.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_LOOKAHEAD_H_
