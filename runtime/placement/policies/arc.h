// ARC, the adaptive replacement cache: what was used once since it came and what was used again
// stand in two LRU lists, and two ghost lists remember what left each. A chunk that comes back from
// a ghost list says that its list should have been longer, and the aim for the first one's length
// moves (N. Megiddo, D. S. Modha, "ARC: A Self-Tuning, Low Overhead Replacement Cache", FAST 2003,
// Figure 4). Between LRU and LFU, by itself.
//
// Here room is made before it is known what comes, so the aim moves one step later than in the
// paper: after the victim of that miss was chosen, and without its rule for a tie. The use for
// which a chunk came is its miss, so it moves to the second list at its second use, or as it comes
// if it was remembered. The room is taken to be the chunks that are there once one has come. A
// chunk that was freed is remembered as well, so its index may count as one that comes back.
//
// Metadata: 9 bytes a chunk.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_ARC_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_ARC_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/placement/policies/chunk_lists.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class ArcPolicy final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "arc"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  // The paper's T1, T2, B1 and B2.
  enum List : uint8_t { kOnce, kAgain, kOnceGhost, kAgainGhost, kNone };
  struct Entry {
    uint8_t list : 4 = kNone;
    uint8_t used : 4 = 0;  // Since it came; only asked in kOnce.
  };

  List Where(ChunkIndex chunk) const {
    return chunk.value < entries_.size() ? static_cast<List>(entries_[chunk.value].list) : kNone;
  }
  bool Present(ChunkIndex chunk) const { return Where(chunk) <= kAgain; }
  // To the end of the list, from wherever it is.
  void Move(ChunkIndex chunk, List to);
  void Forget(List ghosts);
  // Moves the aim, for a chunk that comes back. REQUIRES: that it is in that list.
  void Adapt(List ghosts, uint32_t room);
  // Keeps the ghosts within their bounds, for a chunk that is not remembered.
  void Trim(uint32_t room);

  ChunkLists lists_{4};  // Least recently used first.
  std::array<uint32_t, 5> size_{};
  std::vector<Entry> entries_;
  double aim_ = 0;  // For the length of kOnce; the paper's p.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_ARC_H_
