// SIEVE: chunks stand in the order of their arrival and never move; a use sets a bit. A hand goes
// from the oldest to the newest, clears the bits it passes and takes the first chunk whose bit is
// clear; there it stays, so that what survived is asked again later than what has just come
// (Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. V. Rashmi, "SIEVE is Simpler than LRU: an Efficient
// Turn-Key Eviction Algorithm for Web Caches", NSDI 2024).
//
// The use for which a chunk came is its miss and sets no bit. Offering moves no hand: it moves when
// a chunk really leaves, as far as it would have gone to find it, and so chunks that could not be
// taken (busy, or named by the queue) stop it until they are used again or leave.
//
// Metadata: 9 bytes a chunk.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_SIEVE_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_SIEVE_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/policies/chunk_list.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class SievePolicy final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "sieve"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  enum State : uint8_t { kNotUsed, kUsedOnce, kVisited };  // The bit is set in the last.

  bool Visited(ChunkIndex chunk) const { return state_[chunk.value] == kVisited; }
  void Clear(ChunkIndex chunk);
  ChunkIndex Hand() const { return hand_ ? hand_ : order_.Front(); }
  // Takes the hand to the first chunk whose bit is clear. REQUIRES: that there is one.
  void Advance();

  ChunkList order_;  // Oldest first.
  ChunkIndex hand_;  // Null: at the oldest.
  std::vector<uint8_t> state_;
  uint32_t present_ = 0;
  uint32_t visited_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_SIEVE_H_
