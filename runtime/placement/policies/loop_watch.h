// Tells a loop over more chunks than fit from other use. LRU keeps nothing of such a loop; who
// knows of it keeps a part (G. Glass, P. Cao, "Adaptive Page Replacement Based on Memory Reference
// Behavior", SIGMETRICS 1997; J. M. Kim et al., "A Low-Overhead High-Performance Unified Buffer
// Management Scheme that Exploits Sequential and Looping References", OSDI 2000).
//
// How it tells. Uses of a chunk in quick succession are one *visit* (correlated references, in
// E. J. O'Neil, P. E. O'Neil, G. Weikum, "The LRU-K Page Replacement Algorithm", SIGMOD 1993). Time
// is counted in visits to any chunk, in *epochs* of as many visits as a sixteenth of the chunks
// present, rounded down to a power of two. An epoch is made shorter again only where that is less
// than three quarters of it: intervals in which it changes tell nothing. Visits that come soon
// after the chunk's last (kSoonEpochs) are not counted: what is used all the time, and more of it
// in one phase than in another, would make laps of one loop look unequal.
//
// A use in the epoch of the chunk's last visit or in the next belongs to that visit, if the chunk
// did not leave in between. A visit to a chunk that did leave since its last one is a *return*, and
// the epochs since then are its interval. In a loop all intervals are one, its period; elsewhere
// they are all sorts, or, where use goes to and fro, each a little longer or shorter than the one
// before. So one interval is taken for the period, and a return *agrees* if its interval differs
// from it by a sixty-fourth and one epoch at most. Each return that agrees adds one to a count,
// each that does not takes four off, and where nothing is left its interval is the next to be
// taken. The loop is on when the count reaches a quarter of the chunks present (at least 4, or all
// where there are less), off when less than a quarter of that is left; it ends at twice that. Of
// intervals longer than 255 epochs, 8 to 21 times what is present, nothing is made.
//
// A chunk that was not visited for more than the period, an eighth of it and an epoch has *dropped
// out* of the loop.
//
// Threads: not safe, like the policies it serves.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LOOP_WATCH_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LOOP_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/units.h"

namespace vramspan {

class LoopWatch {
 public:
  // What it needs to know of each chunk, wherever that lies. Entries, one a chunk, are the policy's
  // and have these members, as bit fields if it likes:
  //   stamp     kStampBits bits: the epoch of the last visit.
  //   used      Whether there was one.
  //   away      Whether the chunk left since.
  //   returned  Whether the last visit was a return.
  static constexpr int kStampBits = 9;

  // An eighth to a third of the chunks present, in visits.
  static constexpr uint32_t kSoonEpochs = 4;
  // Of fewer chunks present soon may be a lap.
  static constexpr uint32_t kFewest = 16;

  enum class Visit : uint8_t {
    kSame,      // None: the use belongs to the last one.
    kFirst,     // The first of this chunk.
    kSoon,      // The chunk stayed, and the last one was kSoonEpochs ago at most.
    kStayed,    // It stayed.
    kReturned,  // It did not.
  };

  // A chunk that is present was used. REQUIRES: present > 0.
  template <typename Entry>
  Visit OnUse(std::vector<Entry>& entries, ChunkIndex chunk, uint32_t present) {
    Entry& entry = entries[chunk.value];
    const uint32_t age = Age(entry.stamp);
    const bool same = entry.used && !entry.away && age <= 1;
    if (same) return Visit::kSame;
    const Visit visit = !entry.used          ? Visit::kFirst
                        : entry.away         ? Visit::kReturned
                        : age <= kSoonEpochs ? Visit::kSoon
                                             : Visit::kStayed;
    entry.returned = visit == Visit::kReturned;
    entry.used = 1;
    entry.away = 0;
    entry.stamp = epoch_ & kStampMask;
    if (visit == Visit::kReturned && age < kForgotten) CountReturn(age, present);
    if ((visit != Visit::kSoon || present < kFewest) && CountVisit(present)) Sweep(entries);
    return visit;
  }

  template <typename Entry>
  static void OnRemove(Entry& entry) {
    entry.away = entry.used;
  }

  bool looping() const { return looping_; }

  // For a chunk that is present while the loop is on.
  template <typename Entry>
  bool DroppedOut(const Entry& entry) const {
    return entry.used && !entry.away && Age(entry.stamp) > longest_stay_;
  }

 private:
  static constexpr uint32_t kStampMask = (1u << kStampBits) - 1;
  // From this age on stamps are kept from growing older, so that they are not taken for young.
  static constexpr uint32_t kForgotten = 256;
  // A stamp grows older by as many epochs before its turn to be looked after comes.
  static constexpr uint32_t kSweepEpochs = 128;

  uint32_t Age(uint32_t stamp) const { return (epoch_ - stamp) & kStampMask; }
  void CountReturn(uint32_t interval, uint32_t present);
  // True when an epoch ended.
  bool CountVisit(uint32_t present);

  template <typename Entry>
  void Sweep(std::vector<Entry>& entries) {
    for (size_t left = entries.size() / kSweepEpochs + 1; left > 0; --left) {
      if (++swept_ >= entries.size()) swept_ = 0;
      Entry& entry = entries[swept_];
      if (Age(entry.stamp) > kForgotten) entry.stamp = (epoch_ - kForgotten) & kStampMask;
    }
  }

  uint32_t epoch_ = 0;
  uint32_t visits_ = 0;  // Of the epoch.
  uint32_t epoch_length_ = 1;
  size_t swept_ = 0;
  uint32_t agreed_ = 0;
  uint32_t period_ = 0;
  uint32_t longest_stay_ = 0;  // Without a visit, in the loop.
  bool looping_ = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_POLICIES_LOOP_WATCH_H_
