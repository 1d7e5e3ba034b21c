// What comes back though nothing asked for it: hot chunks that lie on the host, while there is room
// for them and nothing else is to be done.
//
// Pure: no clock, no lock. One owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_IDLE_FETCHES_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_IDLE_FETCHES_H_

#include <vector>

#include "runtime/base/units.h"
#include "runtime/placement/heat.h"
#include "runtime/scheduler/residency.h"

namespace vramspan {

class IdleFetches {
 public:
  // Memory or work has gone: there may be room.
  void LookAgain() { due_ = true; }
  // Whether to look, from `not_before` on.
  bool due() const { return due_; }
  Instant not_before() const { return not_before_; }
  // Appends what may come back into so much room, the hottest first: all that nobody wants there,
  // where there is room for that, else what is warm. REQUIRES: nothing moves, and nothing runs that
  // may touch any memory.
  void Add(const Residency& residency, const Heat& heat, Bytes room, Instant now,
           std::vector<ChunkIndex>* fetch);

 private:
  bool due_ = false;
  Instant not_before_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_IDLE_FETCHES_H_
