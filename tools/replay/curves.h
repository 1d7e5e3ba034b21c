// Miss-ratio curves of a recorded run: how often each policy, alone and without look-ahead, would
// not have found a chunk, by the size of device memory. LRU's is taken in one pass (lru_curve.h),
// those of the others are simulated size by size (cache_model.h); `min` is the floor.
#ifndef VRAMSPAN_TOOLS_REPLAY_CURVES_H_
#define VRAMSPAN_TOOLS_REPLAY_CURVES_H_

#include <absl/types/span.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/replay/recorded_run.h"

namespace vramspan::replay {

struct CurvePoint {
  // What the device has, packed memory included: of that the most that was ever live is set aside.
  Bytes device_memory;
  double misses = 0;      // Not at first touches. Whole, unless the curve is sampled.
  double miss_ratio = 0;  // Of all accesses, first touches included.
};

struct Curve {
  std::string trace;
  std::string policy;
  int chunk_log2 = 0;     // 0: by size.
  uint64_t accesses = 0;  // One for each chunk that a work names.
  Bytes distinct;         // All chunks that are named.
  bool sampled = false;
  double error = 0;                // The standard error of the miss ratio, mean over the points.
  std::vector<CurvePoint> points;  // By device memory, growing.
};

struct CurveOptions {
  std::string trace;                  // Its name in the curves.
  std::vector<std::string> policies;  // Of CachePolicyNames(); none: all.
  std::vector<int> chunk_log2 = {0};  // 21 to 26, or 0: by size.
  // None: `points` sizes, evenly spaced, from the largest chunk to where nothing is missed.
  std::vector<Bytes> device_memory;
  uint32_t points = 32;
  // A run of more accesses has LRU's curve from a sample of so many chunks, which is as SHARDS is
  // by default.
  uint64_t most_exact = 1'000'000'000;
  uint32_t sampled_chunks = 8192;
  unsigned threads = 0;  // 0: as many as there are cores.
  // Called now and then, by one thread at a time, with the share that is done, 0 to 1.
  std::function<void(double)> progress;
};

// The curves by chunk size, then in the order of the policies; the same whatever the threads.
// InvalidArgument for policies and chunk sizes that there are not, ResourceExhausted for a run
// whose accesses are too many for `min`.
StatusOr<std::vector<Curve>> MakeCurves(const RecordedRun& run, const CurveOptions& options);

// The device memory in which nothing is missed: the most that chunks and packed memory take, each
// at its own worst moment.
Bytes MemoryForAll(const RecordedRun& run, int chunk_log2);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_CURVES_H_
