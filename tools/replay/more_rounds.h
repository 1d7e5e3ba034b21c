// A recording as if its program had gone on for longer: one of its rounds (rounds.h) again and
// again.
#ifndef VRAMSPAN_TOOLS_REPLAY_MORE_ROUNDS_H_
#define VRAMSPAN_TOOLS_REPLAY_MORE_ROUNDS_H_

#include "runtime/base/status.h"
#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// With so many rounds of its main phase in all, as far as they have no end: the last of those that
// neither allocate nor free comes more often, as long after each other as once. What comes behind
// it comes later. InvalidArgument: there is none, it has as many, or it would be too much work.
// REQUIRES: run.Check() is ok, and works come in the order of the steps.
StatusOr<RecordedRun> WithRounds(RecordedRun run, uint64_t rounds);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_MORE_ROUNDS_H_
