// The last work of a trace, of which more may be told: several records in a row may be of one. A
// record may say that its ranges are as before: those of the last one of its code in its block.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_OPEN_WORK_H_
#define VRAMSPAN_TOOLS_REPLAY_OPEN_WORK_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/trace/events.h"
#include "tools/replay/raw_sets.h"

namespace vramspan::replay {

class OpenWork {
 public:
  // The record tells more of the open work: then its ranges are taken.
  bool Continues(const trace::WorkEvent& e, const RawSets& sets);
  // Nothing more of it comes. Its set, where one is open.
  std::optional<uint32_t> Close(RawSets* sets);
  // Whether what the record says to be as before is known. To be asked of each record that begins
  // work, also where the work is left out.
  bool Known(const trace::WorkEvent& e, uint32_t block);
  // REQUIRES: none is open. `known`: what Known said.
  void Open(const trace::WorkEvent& e, uint32_t block, bool known);

  // Ranges that were told, of all work, and what was copied of what is as before.
  uint64_t told() const { return told_; }
  // Ranges of the open work, in no set yet.
  size_t pending() const { return ranges_.size(); }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // Of a code, what its last record told: the ranges of a set, where the block is the same.
  struct Before {
    uint32_t block = kNone;
    uint32_t set = kNone;
  };
  // Copies what is as before where that has to be; then it counts as told.
  void Append(const std::vector<trace::TracedRange>& ranges, bool again);

  bool open_ = false;
  bool single_ = false;            // By one record so far.
  std::optional<uint32_t> known_;  // Its raw set, without its ranges.
  uint32_t code_ = 0, block_ = 0;
  uint64_t id_ = 0;
  std::vector<trace::TracedRange> ranges_;
  absl::flat_hash_map<uint32_t, Before> before_;  // By code.
  uint64_t told_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_OPEN_WORK_H_
