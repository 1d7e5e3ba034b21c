// Who leaves, and in which order: first what has no claim by advice, then what holds nothing, if it
// is not needed too soon, then what the queue does not name, in the policy's order, then what it
// needs last, and where it must be, what is to be kept.
// Where several have an equal claim to stay, the one that leaves the fewest bytes unused goes.
//
// Threads: not safe. One Start and one Finish for each plan; the look-ahead and the policy do not
// change in between.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_VICTIMS_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_VICTIMS_H_

#include <cstdint>
#include <vector>

#include "runtime/placement/lookahead.h"
#include "runtime/placement/policy.h"

namespace vramspan {

class Victims {
 public:
  // For whom room is made: victims are needed later than this work, or for kForAll anyhow.
  static constexpr int64_t kForAll = -1;
  enum class Outcome { kDone, kTooLittle, kTooMany };

  // So many of the policy's next victims count as having an equal claim to stay. Any small number
  // would do: enough that a small victim is found for a small need, few enough that chunks in use
  // are not taken for their size.
  static constexpr size_t kEqualClaim = 8;
  // Whether a victim of `size` suits the need better than one of `best` (0: none yet): the smallest
  // that covers it, else the largest.
  static bool Suits(uint64_t size, uint64_t best, uint64_t need) {
    if (best == 0) return true;
    if (size >= need) return best < need || size < best;
    return best < need && size > best;
  }

  explicit Victims(EvictionPolicy* policy, Lookahead* ahead) : policy_(policy), ahead_(ahead) {}

  // `want` bounds what all calls of Take of this plan will ask for, `max` the victims in all.
  // `for_all`: some of it will be asked for with kForAll.
  // `per_byte`: PlanRequest's.
  void Start(const ResidencyView& residency, uint64_t want, uint32_t max, bool for_all,
             double per_byte);
  // Leaves the look-ahead as it was.
  void Finish();

  // Appends victims of `need` bytes or a little more to `evict` and their bytes to `freed`. Takes
  // none if they do not suffice (kTooLittle) or would be more than the maximum (kTooMany).
  Outcome Take(uint64_t need, int64_t after, std::vector<ChunkIndex>* evict, uint64_t* freed);
  // The same, but takes as many as it may where they do not suffice.
  void TakeUpTo(uint64_t need, int64_t after, std::vector<ChunkIndex>* evict, uint64_t* freed);

  // The work that needs the next victim, or works() where the queue does not name it, or `after`
  // when there is none that is needed later than that.
  uint32_t NextVictimNeededBy(uint32_t after);

  // Bytes that could be set free for `after`.
  uint64_t IdleLeft(int64_t after);
  // Bytes on the device that may leave once their users have finished, whoever needs them.
  uint64_t Busy();

 private:
  struct Candidate {
    ChunkIndex chunk;
    uint64_t size;
    bool taken = false;
  };
  struct EmptyNamed {
    uint32_t needed_by;
    ChunkIndex chunk;
  };
  // Chunks whose order is not the queue's, the weakest claim first.
  struct Line {
    std::vector<Candidate> chunks;
    size_t first_untaken = 0;
    uint64_t idle = 0;  // Bytes of those that are not taken.

    void Clear();
    void Add(ChunkIndex chunk, uint64_t size) { chunks.push_back({.chunk = chunk, .size = size}); }
  };
  struct Chosen {
    ChunkIndex chunk;
    uint64_t size;
    bool* taken;
    Line* line;         // Null for one that is chosen by the queue's order.
    int64_t needed_by;  // Then the work that first needs it.
  };

  // Where all is drawn at once: that, when the first victim is wanted.
  void Gather();
  void GatherOffered();
  void GatherEmpty();
  // Else, of unnamed_: so many at least, or all that Gather would draw.
  void Draw(size_t count);
  // Whether no more is drawn: equal claims are compared, and no more will be asked for.
  bool IsEnough(size_t chunks, uint64_t bytes) const {
    return chunks >= kEqualClaim && bytes >= want_;
  }
  Outcome Choose(uint64_t need, int64_t after, uint64_t* total);
  void GiveBack(const Chosen& chosen);
  void Prune(uint64_t need, uint64_t* total);
  void Commit(std::vector<ChunkIndex>* evict);
  bool ChooseFrom(Line* line, uint64_t need);
  bool ChooseNamed(uint64_t need, int64_t after);
  // One that holds nothing, is named, and is needed so much later than `after` that it can be away.
  bool ChooseEmpty(uint64_t size, int64_t after);
  // Where it is: the next that may leave for `after`; null for none.
  Need* NextEmpty(uint64_t size, int64_t after);
  bool CanBeAway(const Need& need, uint32_t needed_by, int64_t after) const;
  // Moves `farthest_` down to the last work that first needs a chunk which may still leave.
  void SkipEmpty(int64_t after);

  EvictionPolicy* const policy_;
  Lookahead* const ahead_;
  const ResidencyView* residency_ = nullptr;
  uint64_t want_ = 0;
  size_t most_ = 0;    // Chunks in a line: more than these cannot be taken.
  uint32_t left_ = 0;  // Victims that may still be taken.
  bool for_all_ = false;

  // All that is offered is drawn at once, and the sums are of that: where claims differ, or it is
  // not known what no work names, or to be asked changes what the policy offers next. Else the sums
  // are known, and what is offered is drawn as it is wanted.
  bool whole_ = false;
  bool all_drawn_ = false;  // There is no more to draw.
  uint64_t drawn_ = 0;      // Bytes of unnamed_, taken or not.
  Line unclaimed_;          // Not named, in the policy's order, then named, needed last first.
  Line unnamed_;            // In the policy's order.
  Line empty_;              // Not named, and hold nothing.
  Line kept_;               // In the policy's order, named or not; only where for_all_.
  uint64_t unnamed_busy_ = 0;

  // Of those that hold nothing and are named, in the order in which they leave: needed last first.
  std::vector<EmptyNamed> empty_named_;
  size_t first_empty_ = 0;  // All before it are taken.
  bool empty_gathered_ = false;
  double per_byte_ = 0;

  int64_t farthest_ = 0;  // No named chunk that is needed by a later work may still leave.
  std::vector<Chosen> named_taken_;
  std::vector<Chosen> chosen_;  // By the call in progress; not in the plan yet.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_VICTIMS_H_
