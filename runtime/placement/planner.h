// The planner: over the queue of held work, decides what to evict, what to fetch and what to serve
// in place. What the queue needs last leaves first (near Belady's order, since the queue is the
// future); chunks the queue does not name leave before any it names, in the policy's order. Before
// both leaves what holds nothing, unless it is needed soon. What the program advised goes before
// all that: chunks without a claim leave first, chunks to keep last.
//
// Rules it keeps:
//  - A chunk is fetched only for work in the queue, in the order of first need.
//  - A chunk is evicted for a fetch only if it is needed later than the fetch is, or not at all, or
//    has no claim to its place.
//  - A chunk that is to be kept is not evicted for a fetch.
//  - A busy chunk is not evicted; where only busy chunks stand in the way, the plan says `wait`.
//  - Work whose set cannot fit is served in place; nothing is evicted in vain for it, and what of
//    it lies on the device stays.
//  - Ahead of the head, free room is filled at once, but a chunk is evicted only when the fetch is
//    due (pace.h), so that a cycle larger than the device keeps a part of it there.
// Pure: same request, same view, same policy state, same plan.
//
// Threads: not safe. One Make after another, under the lock that guards policy and residency.
#ifndef VRAMSPAN_RUNTIME_PLACEMENT_PLANNER_H_
#define VRAMSPAN_RUNTIME_PLACEMENT_PLANNER_H_

#include <memory>

#include "runtime/placement/policy.h"
#include "runtime/placement/types.h"

namespace vramspan {

class Planner {
 public:
  // The policy is the caller's and outlives the planner.
  explicit Planner(EvictionPolicy* policy);
  ~Planner();

  Plan Make(const PlanRequest& request, const ResidencyView& residency) {
    Plan plan;
    Make(request, residency, &plan);
    return plan;
  }
  // The same, into a plan that was made before, for its memory.
  void Make(const PlanRequest& request, const ResidencyView& residency, Plan* plan);

 private:
  // Kept between calls for its memory only: a plan is made every few tens of microseconds under
  // pressure.
  struct Scratch;
  const std::unique_ptr<Scratch> scratch_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_PLACEMENT_PLANNER_H_
