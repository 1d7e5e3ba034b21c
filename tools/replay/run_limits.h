// How much a file may make its readers hold and walk over: so much for any file, and more for each
// byte that it has. What was recorded stays far below; a few bytes that stand for more memory or
// work than could be told in as many are refused. docs/trace-format.md has the figures.
#ifndef VRAMSPAN_TOOLS_REPLAY_RUN_LIMITS_H_
#define VRAMSPAN_TOOLS_REPLAY_RUN_LIMITS_H_

#include <cstdint>

#include "runtime/base/status.h"
#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

struct RunLimits {
  explicit RunLimits(uint64_t file_bytes);

  uint64_t events;    // Of all types.
  uint64_t told;      // Ranges of work, but for those that are said to be as before.
  uint64_t ranges;    // Of different sets together.
  uint64_t pieces;    // Of allocations, and ranges that were looked for among them.
  uint64_t granules;  // 2 MiB each: of allocations, however long they lived,
  uint64_t named;     // of all that different sets name,
  uint64_t accesses;  // and of all that works name; as many ranges, too.
};

// No kernel's and no program's time is beyond it, nor all works' together: 36 years.
inline constexpr uint64_t kMostTime = uint64_t{1} << 60;

// ResourceExhausted where the run is beyond the limits in what its replays and curves take, or in
// its times.
Status CheckLimits(const RecordedRun& run, const RunLimits& limits);

// The granules that a range of an allocation lies in.
constexpr uint64_t GranulesOf(uint64_t offset, uint64_t size) {
  if (size == 0) return 0;
  return (offset + size - 1) / kGranularity.value - offset / kGranularity.value + 1;
}

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_RUN_LIMITS_H_
