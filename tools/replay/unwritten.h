// Which memory kernels leave as it is, though for all that is known they may write it: as the
// runtime finds it by fingerprints, so that what leaves the device is not copied.
#ifndef VRAMSPAN_TOOLS_REPLAY_UNWRITTEN_H_
#define VRAMSPAN_TOOLS_REPLAY_UNWRITTEN_H_

#include <cstdint>
#include <vector>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {

inline constexpr uint32_t kNeverUnwritten = UINT32_MAX;

// By allocation: most of what left again after it had come back was not copied. What leaves for the
// first time has no copy on the host yet, written or not.
std::vector<bool> UnwrittenByMoves(const RecordedRun& run);

// By chunk, the work behind which it is never written again, as far as all of it was compared;
// kNeverUnwritten where it is, or nobody knows.
std::vector<uint32_t> UnwrittenByFingerprints(const ChunkedRun& chunks);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_UNWRITTEN_H_
