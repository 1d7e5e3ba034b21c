// The chunks as decisions look at them: which may be moved at all, and which are best served where
// they lie.
//
// Pure: no clock, no lock. One owner, who also owns the table.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "runtime/base/grow.h"
#include "runtime/space/chunk_table.h"

namespace vramspan {

class Residency {
 public:
  explicit Residency(ChunkTable* chunks) : chunks_(*chunks) {}

  Chunk& operator[](ChunkIndex chunk) { return chunks_[chunk]; }
  const Chunk& operator[](ChunkIndex chunk) const { return chunks_[chunk]; }
  // One past the highest index ever given out.
  uint32_t end() const { return chunks_.end(); }

  // Of which chunks all users are counted, from here on.
  void Track(Tracking tracking) { tracking_ = tracking; }
  bool UsersKnown(const Chunk& c) const { return vramspan::UsersKnown(c, tracking_); }

  // The planner is to look at the chunk again: what it is shown of it has changed.
  void NoteChange(ChunkIndex chunk) {
    if (chunk.value >= noted_.size()) GrowTo(noted_, size_t{chunk.value} + 1);
    if (noted_[chunk.value]) return;
    noted_[chunk.value] = true;
    changed_.push_back(chunk);
  }
  absl::Span<const ChunkIndex> changed() const { return changed_; }
  void ForgetChanges() {
    for (const ChunkIndex chunk : changed_) noted_[chunk.value] = false;
    changed_.clear();
  }

  // May be moved at all: its users are known, and nothing keeps it where it is.
  bool Movable(const Chunk& c) const {
    return c.movable && !c.dying && c.state != ChunkState::kPinned &&
           c.state != ChunkState::kNone && UsersKnown(c);
  }
  static bool Moving(const Chunk& c) { return c.state == ChunkState::kMoving; }
  // By the program's advice: no work has it fetched.
  static bool ServedInPlace(const Chunk& c) {
    return c.advice == Advice::kPreferHost || c.advice == Advice::kStreamedOnce;
  }

 private:
  ChunkTable& chunks_;
  Tracking tracking_ = Tracking::kNone;
  std::vector<ChunkIndex> changed_;  // Each once,
  std::vector<uint8_t> noted_;       // By chunk: is in there.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_
