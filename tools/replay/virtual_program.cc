#include "tools/replay/virtual_program.h"

#include <algorithm>

namespace vramspan::replay {

const RecordedStep* VirtualProgram::Next(uint64_t now, bool recorded) {
  if (done()) return nullptr;
  waits_ = false;
  if (!timed_) {
    const StepTiming& t = timing_.step(step_);
    next_ = time_ + t.think;
    if (t.after != kNoWork) {
      if (ends_[t.after] == kNever) return nullptr;
      next_ = std::max(next_, ends_[t.after]);
    }
    // Where memory is short, a launch takes as long as that to be looked at, recorded or not.
    next_ = next_ + t.rest - (recorded ? 0 : t.recording);
    timed_ = true;
  }
  return next_ > now ? nullptr : &run_.steps[step_];
}

void VirtualProgram::GiveUp(const ChunkedRun& chunks,
                            absl::FunctionRef<void(ChunkIndex, RecordedDiscard::Kind)> say) {
  const std::vector<RecordedDiscard>& all = run_.discards;
  for (; discards_ < all.size() && all[discards_].step <= step_; ++discards_) {
    const RecordedDiscard& d = all[discards_];
    const RecordedRange range{.allocation = d.allocation, .offset = d.offset, .size = d.size};
    chunks.ForEachChunk(range, [&](ChunkIndex chunk) {
      const uint64_t begin = chunks.offset(chunk).value;
      const uint64_t end = begin + chunks.size(chunk).value;
      // Behind the end of an allocation there is nothing.
      const bool to_the_end = d.offset + d.size >= run_.allocations[d.allocation].size.value;
      const bool whole = begin >= d.offset && (to_the_end || end <= d.offset + d.size);
      if (whole || d.kind == RecordedDiscard::Kind::kOwned) say(chunk, d.kind);
    });
  }
}

void VirtualProgram::Took(uint64_t now, uint64_t nanoseconds) {
  time_ = now + nanoseconds;
  timed_ = false;
  ++step_;
}

}  // namespace vramspan::replay
