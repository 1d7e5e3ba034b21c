// Host chunks without a mapping: which may stay so, who waits for one, and what gets one again.
//
// Mapping and unmapping host memory takes ten times as long as device memory
// (docs/findings/0003-what-a-remap-costs.md). A chunk that is evicted to be fetched again needs
// neither, so it stays unmapped. That is done only where work says what it touches:
//  - Work that is not known to touch its ranges alone (a barrier, or a kernel whose code nothing
//    has proved) waits until everything is mapped. No chunk is left unmapped before that work has
//    ended, nor until other work has been submitted: the next is most likely of the same kind.
//    Of work of which nothing is known, not for a while.
//  - Other work finds mapped whatever it may touch. Exception: a chunk that one of the next
//    launches needs on the device is fetched, and not mapped on the host first.
//  - What the driver looks up itself, in copies, fills and address queries, is mapped before.
//  - While foreign work runs everything is mapped and nothing moves.
//  - Everything is mapped again when the program has been idle for a while.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_UNMAPPED_CHUNKS_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_UNMAPPED_CHUNKS_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/scheduler/awaited_fetches.h"
#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/work_counts.h"
#include "runtime/scheduler/work_queue.h"

namespace vramspan {

class UnmappedChunks {
 public:
  // From an address query, foreign work or work of which nothing is known on, nothing is left
  // unmapped for so long: the next of the kind is most likely not far.
  static constexpr Duration kKeptMapped = std::chrono::seconds(1);
  // Longer than a program thinks between two steps of what it does.
  static constexpr Duration kIdle = std::chrono::milliseconds(100);

  // All outlive it.
  UnmappedChunks(Residency* residency, const WorkQueue* queue, const WorkCounts* counts,
                 Duration deadline)
      : residency_(*residency), queue_(*queue), counts_(*counts), awaited_(deadline) {}

  // --- which may stay so ---
  void Submitted(const Work& work, Instant now) {
    if (work.kind == Work::Kind::kScope) last_needs_all_ = work.needs_all_mapped();
    if (work.needs_all_mapped() && work.uses.empty()) KeepMapped(now);
  }
  // An address query or foreign work comes, or work of which nothing is known.
  void KeepMapped(Instant now) { KeepMappedUntil(now + kKeptMapped); }
  void KeepMappedUntil(Instant until) {
    no_unmapping_before_ = std::max(no_unmapping_before_, until);
  }
  // A chunk on its way to the host.
  bool MayStayUnmapped(ChunkIndex chunk, Instant now) const;

  // --- who waits ---
  struct Wait {
    bool waits = false;
    bool wants_others = false;  // What it has fetched for others has changed.
  };
  // Whether held work must wait for a mapping; asks for it. `has_its_memory`: but for that it is
  // ready. `active`: anything moves or runs. REQUIRES: some chunk is unmapped.
  Wait Look(Work* work, bool has_its_memory, bool active, Instant now);
  // The plan says that what the work has fetched for others does not come now.
  void NotPlanned(Work* work, Instant now);
  // The work is released.
  void Released(const Work& work) {
    if (!work.awaited.chunks.empty()) awaited_.Came();
  }
  // If nothing moves or runs until then, it waits in vain.
  Instant Due(const Work& head) const { return awaited_.Due(head.awaited); }

  // --- what is mapped again ---
  void Map(ChunkIndex chunk) { wanted_.push_back(chunk); }  // Somebody waits for it.
  void MapAll(bool all = true) { all_ = all; }              // Until nothing is unmapped.
  // Nothing is unmapped any more.
  void AllMapped() {
    wanted_.clear();
    next_.clear();
    all_ = false;
  }
  // The next to be mapped, from here on; null for none. `idle_since`: when anything last happened,
  // where nothing goes on; else now.
  ChunkIndex BeginMapping(Instant idle_since, Instant now);
  // More is to be mapped than BeginMapping has looked at: it may have some the next time.
  bool wants_mapping() const { return all_ || !wanted_.empty(); }
  // It is mapped, or could not be: whoever still waits for it asks again.
  void Mapped(ChunkIndex chunk, bool ok);
  bool mapping() const { return mapping_; }  // One is being mapped.

 private:
  void Collect();
  bool ComesSoon(Work* work, ChunkIndex chunk, bool active, Instant now, Wait* wait);

  Residency& residency_;
  const WorkQueue& queue_;
  const WorkCounts& counts_;
  AwaitedFetches awaited_;
  Instant no_unmapping_before_;
  std::vector<ChunkIndex> wanted_;
  std::deque<ChunkIndex> next_;  // To be mapped, in order.
  bool mapping_ = false;
  bool all_ = false;
  bool last_needs_all_ = false;  // The work that was submitted last.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_UNMAPPED_CHUNKS_H_
