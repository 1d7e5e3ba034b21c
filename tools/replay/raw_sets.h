// The sets of ranges that the work of a trace names, as it names them: each once, by pointer. They
// become sets of a run when it is known what lived where (traced_order.h).
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_RAW_SETS_H_
#define VRAMSPAN_TOOLS_REPLAY_RAW_SETS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>

#include <cstdint>
#include <vector>

#include "runtime/trace/events.h"

namespace vramspan::replay {

class RawSets {
 public:
  // The index of the set with these ranges. `likely`: of the one that it may well be.
  uint32_t Add(const std::vector<trace::TracedRange>& ranges, uint32_t likely) {
    if (likely < sets_.size() && sets_[likely] == ranges) return likely;
    uint64_t hash = ranges.size();
    for (const trace::TracedRange& r : ranges) {
      hash = absl::HashOf(hash, r.ptr.value, r.size.value, r.slot, r.write, r.exact, r.settled,
                          r.possible, r.told);
    }
    std::vector<uint32_t>& same = by_hash_[hash];
    for (const uint32_t index : same) {
      if (sets_[index] == ranges) return index;
    }
    same.push_back(static_cast<uint32_t>(sets_.size()));
    sets_.push_back(ranges);
    ranges_ += ranges.size();
    return same.back();
  }
  // Good until the next Add.
  const std::vector<trace::TracedRange>& operator[](uint32_t set) const { return sets_[set]; }
  // Of all sets together.
  uint64_t ranges() const { return ranges_; }

 private:
  std::vector<std::vector<trace::TracedRange>> sets_;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> by_hash_;
  uint64_t ranges_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_RAW_SETS_H_
