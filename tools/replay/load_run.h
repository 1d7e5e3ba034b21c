// Whatever `vramspan replay` is given, as a recorded run.
#ifndef VRAMSPAN_TOOLS_REPLAY_LOAD_RUN_H_
#define VRAMSPAN_TOOLS_REPLAY_LOAD_RUN_H_

#include <string>

#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

// A trace file of ours, one of PyTorch (import_pytorch.h) or of libCacheSim (oracle_general.h), by
// what is in it; or "synthetic:..." (synthetic.h). What it gives holds together
// (RecordedRun::Check) and has its works in the order of the steps. Errors name the file;
// InvalidArgument for a synthetic run that is not one.
StatusOr<RecordedRun> LoadRun(const std::string& path);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_LOAD_RUN_H_
