// When a fetch ahead of the head is worth the chunk that must leave for it.
//
// Evicting as early as the queue allows is harmful where the queue goes round in a cycle larger
// than the device: each chunk just used is the one needed last, so each would leave at once and the
// whole cycle be fetched on each pass. Evicting as late as possible costs the fewest fetches
// (Belady's), but they come in a row and the link then idles for the rest of the pass. (The two are
// the "aggressive" and "conservative" of P. Cao, E. W. Felten, A. R. Karlin, K. Li, "A study of
// integrated prefetching and caching strategies", SIGMETRICS 1995.)
//
// Between the two: spread the fetches. Until the next victim is needed again, at time v from now,
// the queue lacks T bytes (those on their way count as well), and S bytes, one work's share, are
// kept in hand. An even pace takes v / (T + S) of time a byte. A fetch is due when at this pace it,
// or one that must follow it, would come too late: when for some work at time t, with B bytes still
// to be fetched for it and those before it, t < v * B / (T + S). Time is the works' expected run
// time; what the link can do is not asked, since a pace that spreads evenly is the one it can keep
// if it can keep any. On a cycle of N equal works with room for C this settles between Belady's
// (N - C) / (N - 1) fetches a work and (N - C + 1) / (N - 1), his with one work's room less, in
// even steps: each fetch has the time of some N / (N - C) works.
//
// Where nobody in sight needs the victim, to be early costs nothing that is known, and to be late
// leaves the device idle. Then a fetch is due as well when what the queue lacks up to there takes
// as long to come as it is away.
//
// Threads: not safe. One Start for each plan.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_PACE_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_PACE_H_

#include <cstdint>

#include "runtime/placement/lookahead.h"

namespace vramspan {

class Pace {
 public:
  explicit Pace(const Lookahead* ahead) : ahead_(ahead) {}

  // `in_hand`: bytes that may be fetched ahead of need; at least one work's are. `running`: whether
  // the first work of the look-ahead runs already. `per_byte`: PlanRequest's. REQUIRES: there is
  // one.
  void Start(uint64_t in_hand, bool running, double per_byte);

  // Whether a fetch for `work` is due, when `planned` bytes are fetched already, all for works up
  // to this one, and the victim is needed by `needed_by`. REQUIRES: work < needed_by <=
  // works().
  bool Due(uint32_t work, uint32_t needed_by, uint64_t planned);

 private:
  const Lookahead* const ahead_;
  double slack_ = 0;     // Bytes: S above.
  double extra_ = 0;     // The part of it that is fetched earlier still.
  uint64_t origin_ = 0;  // When the next work can start.
  double per_byte_ = 0;
  // Where the last answer was found. The next is the same or further on while the victims are
  // needed by the same work.
  uint32_t found_at_ = 0;
  uint32_t found_for_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_PACE_H_
