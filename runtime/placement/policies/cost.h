// What it would cost to be without, per byte: GreedyDual-Size-Frequency (P. Cao, S. Irani,
// "Cost-Aware WWW Proxy Caching Algorithms", USITS 1997; L. Cherkasova, "Improving WWW Proxies
// Performance with Greedy-Dual-Size-Frequency Caching Policy", HP Labs HPL-98-69, 1998). A chunk's
// *value* is its price per byte times its frequency; at each use it is due at value + L, and what
// is due first leaves. L is what was due first when last a chunk left, so what is not used grows
// old beside what is, the sooner the cheaper it is. Values are rounded, so that chunks of one value
// are one LRU list and only the heads of the lists compete (S. Ghandeharizadeh, S. Irani, J. Lam,
// J. Yap, "CAMP: A Cost Adaptive Multi-Queue Eviction Policy for Key-Value Stores", Middleware
// 2014): a use is O(1), an offer the number of lists that are not empty.
//
// Price: OnPrice's nanoseconds for each 2 MiB, rounded down to three binary digits, between 2 us
// and 0.1 s; without OnPrice what 2 MiB take to cross a link, rounded to 2^15 ns. In values that is
// 16; they end at 4095. Frequency: 1 for the first visit (loop_watch.h), one more for each that
// comes soon after the last, 4 at most, halved when the chunk has to come back: that is the ageing,
// beside L. A visit that does not come soon leaves it: where use goes to and fro, as forwards and
// backwards through layers, to count those would keep the wrong end. What is known of a chunk
// outlives its stay; a freed chunk's index starts with what it had.
//
// On a loop over more than fits all chunks are equal, which would be LRU: nothing stays. So while a
// loop is on (loop_watch.h) leave
//   1. chunks that dropped out of the loop, list by list, each up to the first that did not,
//   2. by value alone, the lowest first; of equal ones by *class*, the lowest first; of a class
//      those that were fetched back for their last visit, then those that stayed, both the most
//      recently used first.
// Lists of equal standing go by price, lower first.
//
// The class, 0 to 7, is a multiplicative hash of the chunk's index by the golden ratio: neighbours
// have classes far apart (D. E. Knuth, "The Art of Computer Programming" 3, section 6.4). So what
// of a loop does not stay lies evenly between what does, and the fetches for it have the time of
// the whole lap. Without, what is missing is missing in one stretch, and the link idles for the
// rest of the lap.
//
// Metadata: 16 bytes a chunk and 64 KiB.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_COST_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_COST_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/placement/policies/chunk_lists.h"
#include "runtime/placement/policies/loop_watch.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class CostPolicy final : public EvictionPolicy {
 public:
  std::string_view name() const override { return "cost"; }
  void OnInsert(ChunkIndex chunk) override;
  void OnUse(ChunkIndex chunk) override;
  void OnRemove(ChunkIndex chunk) override;
  void OnPrice(ChunkIndex chunk, uint32_t nanoseconds_saved_per_use, Bytes size) override;
  void OfferVictims(absl::FunctionRef<bool(ChunkIndex)> take) override;
  void OfferAmong(absl::Span<const ChunkIndex> wanted,
                  absl::FunctionRef<bool(ChunkIndex)> take) override;

 private:
  static constexpr int kPriceBits = 6;
  static constexpr int kFrequencyBits = 2;
  static constexpr int kDueBits = 12;
  static constexpr uint32_t kDueMask = (1u << kDueBits) - 1;
  static constexpr uint32_t kDefaultPrice = 16;
  static constexpr int kClassBits = 3;
  // By price, frequency, and whether the last visit was a return: what counts out of a loop.
  static constexpr uint32_t kKinds = 1u << (kPriceBits + kFrequencyBits + 1);
  // One for each kind and class.
  static constexpr uint32_t kLists = kKinds << kClassBits;

  struct Entry {
    uint32_t stamp : LoopWatch::kStampBits = 0;
    uint32_t used : 1 = 0;
    uint32_t away : 1 = 0;
    uint32_t returned : 1 = 0;
    uint32_t price : kPriceBits = kDefaultPrice;  // By which it is listed.
    uint32_t frequency : kFrequencyBits = 0;      // Less one.
    uint32_t due : kDueBits = 0;                  // Its last digits.
    uint32_t listed = 0;                          // When it was, in chunks listed until then.
  };
  static_assert(sizeof(Entry) == 8);

  // A list while it is gone through; or one chunk of it.
  struct Cursor {
    ChunkIndex chunk;  // The next; never null.
    uint16_t list;
    uint64_t turn;  // What is less goes first.

    uint32_t kind() const { return list % kKinds; }
  };

  static uint32_t ClassOf(ChunkIndex chunk) {
    return chunk.value * 0x9E3779B9u >> (32 - kClassBits);
  }
  static uint32_t KindOf(const Entry& entry);
  static bool WasReturn(uint32_t kind) { return (kind & 1) == 0; }
  static uint32_t ValueOf(uint32_t kind);
  uint32_t ListOf(ChunkIndex chunk) const {
    return ClassOf(chunk) * kKinds + KindOf(entries_[chunk.value]);
  }
  // When the cursor's chunk is offered, out of a loop.
  uint64_t TurnOf(const Cursor& cursor) const;
  // How far off it is that the chunk is due: no chunk is overdue.
  uint32_t DueIn(ChunkIndex chunk) const {
    return (entries_[chunk.value].due - inflation_) & kDueMask;
  }
  Entry& EntryOf(ChunkIndex chunk);
  void List(ChunkIndex chunk);
  void Stamp(Entry* entry, uint32_t list);  // Due, and listed, as of now.
  void Unlist(ChunkIndex chunk, uint32_t list);
  // Calls `f` with each list that is not empty, in order, until it returns true.
  template <typename F>
  void ForEachFilled(F f) const;
  // What the cursors stand at; `alone`: and not what follows it in its list.
  void OfferByDue(bool alone, absl::FunctionRef<bool(ChunkIndex)> take);
  void OfferLoop(absl::FunctionRef<bool(ChunkIndex)> take);
  // From the last to `first`; true if one was taken.
  bool OfferList(uint32_t list, ChunkIndex first, absl::FunctionRef<bool(ChunkIndex)> take);

  ChunkLists lists_{kLists};                    // In each, due first and used first is first.
  std::array<uint64_t, kLists / 64> filled_{};  // A bit for each list that is not empty.
  uint32_t filled_count_ = 0;
  std::vector<Entry> entries_;
  std::vector<Cursor> cursors_;  // Of an offer; kept for its memory.
  uint32_t present_ = 0;
  uint32_t listings_ = 0;
  uint32_t inflation_ = 0;  // L, its last digits.
  LoopWatch loops_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_COST_H_
