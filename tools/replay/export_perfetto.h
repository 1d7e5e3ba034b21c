// A recorded run for ui.perfetto.dev: what the program launched, what ran on which stream, what
// moved, and how much memory there was on either side.
//
// Tracks: the program's launches; one for each stream, with the kernels, and a flow from each
// launch to its kernel; the copy engine to the device and the one to the host, with the moves;
// counters of the bytes allocated, on the device and on the host. What overlaps on a stream or an
// engine, as slices of one track must not, goes on to a second track of that name. Times are the
// run's, from 0.
//
// Where memory lay is inferred from the moves: a piece that comes in without having gone out was on
// the host from the start.
#ifndef VRAMSPAN_TOOLS_REPLAY_EXPORT_PERFETTO_H_
#define VRAMSPAN_TOOLS_REPLAY_EXPORT_PERFETTO_H_

#include <string>

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// AlreadyExists where there is a file and not `force`; errors name it.
Status ExportPerfetto(const RecordedRun& run, const std::string& path, bool force);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_EXPORT_PERFETTO_H_
