// A trace file of ours (runtime/trace) as a recorded run: threads' events put into one order,
// pointers turned into pieces of allocations. What contradicts itself is left out and said in
// RecordedRun::problems. Names may be shown as they are (CleanText).
#ifndef VRAMSPAN_TOOLS_REPLAY_LOAD_TRACE_H_
#define VRAMSPAN_TOOLS_REPLAY_LOAD_TRACE_H_

#include <string>

#include "runtime/trace/reader.h"
#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// The errors of Reader::Open, and ResourceExhausted, with the place, where the trace tells more
// than a file of its size can be meant to (run_limits.h).
StatusOr<RecordedRun> LoadTrace(const std::string& path);
// The same from a reader that is open.
StatusOr<RecordedRun> LoadTrace(trace::Reader* reader);

// Writes `run` as a trace. AlreadyExists where there is a file and not `force`.
Status SaveTrace(const RecordedRun& run, const std::string& path, bool force);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_LOAD_TRACE_H_
