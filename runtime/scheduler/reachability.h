// Which addresses no thread may hand to the driver just now. The driver looks up what copies and
// fills name when they are submitted, and refuses (or worse) what is not mapped just then. So no
// chunk is remapped while a scope is open whose held work may hand it to the driver. And no such
// scope opens while one of its chunks is listed here: it is being remapped, waits for open scopes
// to end, or has lost its mapping. Released work needs no such care, for its chunks stay.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_REACHABILITY_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_REACHABILITY_H_

#include <vector>

#include "runtime/scheduler/residency.h"
#include "runtime/scheduler/unmapped_chunks.h"
#include "runtime/scheduler/work.h"
#include "runtime/scheduler/work_counts.h"

namespace vramspan {

class Reachability {
 public:
  // All outlive it.
  Reachability(const Residency* residency, UnmappedChunks* unmapped, const WorkCounts* counts)
      : residency_(*residency), unmapped_(*unmapped), counts_(*counts) {}

  // --- what threads ask ---
  // Whether a thread must wait before it submits the work; asks for the mappings that it lacks.
  bool MustWait(const Work& work);
  // Around an address query, which may name any chunk: no chunk is listed meanwhile. Whether it
  // must wait yet; asks for the mappings.
  void QueryBegan() { ++queries_; }
  bool QueryMustWait();
  // Whether that was the last; false, too, where none had begun.
  bool QueryEnded() { return queries_ > 0 && --queries_ == 0; }

  // --- what moves ask ---
  // Some thread may be handing the chunk to the driver, or any chunk.
  bool InUse(ChunkIndex chunk) const {
    return queries_ != 0 || residency_[chunk].in_submission != 0 ||
           counts_.unknown_in_submission() != 0;
  }
  bool queried() const { return queries_ != 0; }
  void List(ChunkIndex chunk) { listed_.push_back(chunk); }
  void Unlist(ChunkIndex chunk) { std::erase(listed_, chunk); }

 private:
  const Residency& residency_;
  UnmappedChunks& unmapped_;
  const WorkCounts& counts_;
  std::vector<ChunkIndex> listed_;
  int queries_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_REACHABILITY_H_
