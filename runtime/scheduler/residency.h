// The chunks as decisions look at them: which may be moved at all, and which are best served where
// they lie.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_

#include <absl/types/span.h>

#include <cstdint>
#include <vector>

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
  void NoteChange(ChunkIndex chunk) { chunks_.NoteDecision(chunk); }
  void NoteAll() {
    for (uint32_t i = 1; i < end(); ++i) NoteChange(ChunkIndex(i));
  }
  // Those of which that was said since the last call, each once. Good until then.
  absl::Span<const ChunkIndex> TakeChanged() {
    taken_.clear();
    chunks_.changed().Drain([this](ChunkIndex chunk) { taken_.push_back(chunk); });
    return taken_;
  }
  // Calls `visit` with the chunks that were removed since the last call: their indices may be
  // others' since. For one caller.
  template <typename Visit>
  void ForEachRemoved(Visit visit) {
    chunks_.removed().Drain(visit);
  }

  // A host chunk has no mapping, or has one again. How many have none.
  void SetUnmapped(ChunkIndex chunk, bool unmapped) { chunks_.SetUnmapped(chunk, unmapped); }
  uint32_t unmapped() const { return chunks_.unmapped(); }
  // Work that declared the chunk has been reached, or has ended. Packed objects share a chunk with
  // others that may never be declared: unless launches are traced such chunks stay.
  void UsersDeclared(ChunkIndex chunk) {
    Chunk& c = chunks_[chunk];
    if (c.allocation == 0 || c.movable) return;
    c.movable = true;
    NoteChange(chunk);
  }

  // May be moved at all: its users are known, and nothing keeps it where it is.
  bool Movable(const Chunk& c) const {
    return c.movable && !c.dying && c.state != ChunkState::kPinned &&
           c.state != ChunkState::kNone && UsersKnown(c);
  }
  static bool Moving(const Chunk& c) { return c.state == ChunkState::kMoving; }
  // A move of it to the host, or to the device, may begin: no released work uses it.
  bool MayLeave(const Chunk& c) const { return c.on_device && IsIdle(c); }
  bool MayCome(const Chunk& c) const { return !c.on_device && IsIdle(c); }
  // By the program's advice: no work has it fetched.
  static bool ServedInPlace(const Chunk& c) {
    return c.advice == Advice::kPreferHost || c.advice == Advice::kStreamedOnce;
  }

 private:
  bool IsIdle(const Chunk& c) const { return c.in_flight == 0 && !Moving(c) && Movable(c); }

  ChunkTable& chunks_;
  Tracking tracking_ = Tracking::kNone;
  std::vector<ChunkIndex> taken_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_RESIDENCY_H_
