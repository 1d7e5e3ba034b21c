#include "tools/replay/load_run.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "tools/replay/load_trace.h"
#include "tools/replay/synthetic.h"

namespace vramspan::replay {
namespace {

// Replay walks over works by index, so their order must be that of the steps.
Status CheckOrder(const RecordedRun& run) {
  uint32_t next = 0;
  for (const RecordedStep& step : run.steps) {
    if (step.kind == RecordedStep::Kind::kWork && step.index != next++) {
      return absl::InternalError("works are not in the order of the steps");
    }
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<RecordedRun> LoadRun(const std::string& path) {
  StatusOr<RecordedRun> run = IsSynthetic(path) ? SyntheticRun(path) : LoadTrace(path);
  if (!run.ok()) return run.status();
  Status status = run->Check();
  if (status.ok()) status = CheckOrder(*run);
  if (status.ok()) return run;
  return Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

}  // namespace vramspan::replay
