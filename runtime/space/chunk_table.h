// The chunks of one device by index. Entries never move, so a reference stays good while the chunk
// lives; freed entries are used again. Index 0 is never given out.
//
// Threads: not safe; the caller holds the space lock.
#ifndef VRAMSPAN_RUNTIME_SPACE_CHUNK_TABLE_H_
#define VRAMSPAN_RUNTIME_SPACE_CHUNK_TABLE_H_

#include <atomic>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/space/chunk.h"
#include "runtime/space/chunk_set.h"

namespace vramspan {

class ChunkTable {
 public:
  // Room for `capacity` chunks; memory is touched as they come.
  static StatusOr<std::unique_ptr<ChunkTable>> Create(uint32_t capacity);
  ~ChunkTable();

  // A default Chunk in state kNone. ResourceExhausted names the capacity.
  StatusOr<ChunkIndex> Add();
  // REQUIRES: a live chunk that is not kMoving.
  void Remove(ChunkIndex chunk);

  Chunk& operator[](ChunkIndex chunk) { return chunks_[chunk.value]; }
  const Chunk& operator[](ChunkIndex chunk) const { return chunks_[chunk.value]; }

  // One past the highest index ever given out; entries in state kNone among them are free.
  uint32_t end() const { return end_; }
  uint32_t live() const { return live_; }
  // A host chunk is left without a mapping, or has one again. How many are without: of any thread.
  void SetUnmapped(ChunkIndex chunk, bool unmapped) {
    Chunk& c = (*this)[chunk];
    if (c.unmapped == unmapped) return;
    c.unmapped = unmapped;
    unmapped_.fetch_add(unmapped ? 1 : -1, std::memory_order_release);
  }
  uint32_t unmapped() const { return unmapped_.load(std::memory_order_acquire); }
  // What decisions see of the chunk has changed, or will before the lock is left. Add and Remove
  // say so themselves.
  void NoteChange(ChunkIndex chunk) {
    changed_.Add(chunk);
    if (told_ != nullptr) told_->changed.Add(chunk);
  }
  // The same of a change that the scheduler itself makes: it follows from what it was told.
  void NoteDecision(ChunkIndex chunk) { changed_.Add(chunk); }
  // Those that have changed since the last call, and those that were removed.
  ChunkSet& changed() { return changed_; }
  ChunkSet& removed() { return removed_; }
  // For whoever records what the scheduler is told: what others than the scheduler changed. From
  // the first call on.
  struct Told {
    ChunkSet changed, removed;
  };
  Told& told() {
    if (told_ == nullptr) told_ = std::make_unique<Told>();
    return *told_;
  }

 private:
  ChunkTable(Chunk* chunks, uint32_t capacity) : chunks_(chunks), capacity_(capacity) {}

  Chunk* const chunks_;
  const uint32_t capacity_;
  uint32_t end_ = 1;
  uint32_t live_ = 0;
  ChunkSet changed_, removed_;
  std::unique_ptr<Told> told_;  // Null: nobody records.
  std::atomic<uint32_t> unmapped_{0};
  uint32_t first_free_ = 0;  // Free entries are chained through their device_slot.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SPACE_CHUNK_TABLE_H_
