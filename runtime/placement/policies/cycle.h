// LRU that keeps part of a loop. A loop over more chunks than fit defeats LRU: each leaves just
// before it is needed. Then the one used most recently is the one needed last, and to evict that is
// the best there is (E. G. Coffman, P. J. Denning, "Operating Systems Theory", 1973, on cyclic
// references and MIN); LRU is right wherever use has locality. So: while a loop is on (loop_watch.h
// says exactly how that is told) leave
//   1. chunks that dropped out of the loop, the least recently used first, up to the first that
//      did not,
//   2. chunks that were fetched back for their last visit, the most recently used first: so the
//   part
//      that stayed goes on to stay,
//   3. those that stayed, the least recently used first;
// else the least recently used first.
//
// Metadata: 10 bytes a chunk.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CYCLE_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CYCLE_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/policies/chunk_lists.h"
#include "runtime/placement/policies/loop_watch.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class CyclePolicy final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "cycle"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  struct Entry {
    uint16_t stamp : LoopWatch::kStampBits = 0;
    uint16_t used : 1 = 0;
    uint16_t away : 1 = 0;
    uint16_t returned : 1 = 0;
  };

  void TakeOut(ChunkIndex chunk);
  // Whether the last visit was a return.
  bool Returned(ChunkIndex chunk) const { return entries_[chunk.value].returned; }

  ChunkLists order_{1};       // Least recently used first.
  uint32_t returned_ = 0;     // Chunks present that returned.
  ChunkIndex last_returned_;  // None of them is behind it.
  std::vector<Entry> entries_;
  uint32_t present_ = 0;
  LoopWatch loops_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_CYCLE_H_
