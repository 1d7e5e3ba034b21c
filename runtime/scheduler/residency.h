// The chunks as decisions look at them: which may be moved at all, and which are best served where
// they lie.
//
// Pure: no clock, no lock. One owner, who also owns the table.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_

#include <absl/types/span.h>

#include <cstdint>

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
  void Track(Tracking tracking) {
    if (tracking != tracking_) NoteAll();
    tracking_ = tracking;
  }
  bool UsersKnown(const Chunk& c) const { return vramspan::UsersKnown(c, tracking_); }

  // The planner is to look at the chunk again: what it is shown of it has changed.
  void NoteChange(ChunkIndex chunk) { chunks_.NoteChange(chunk); }
  void NoteAll() {
    for (uint32_t i = 1; i < end(); ++i) NoteChange(ChunkIndex(i));
  }
  absl::Span<const ChunkIndex> changed() const { return chunks_.changed(); }
  void ForgetChanges() { chunks_.ForgetChanges(); }

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
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_
