// Collects what a replay has to tell: by kernel, and where it is asked for, over time.
#ifndef VRAMSPAN_TOOLS_REPLAY_RUN_RECORDER_H_
#define VRAMSPAN_TOOLS_REPLAY_RUN_RECORDER_H_

#include <cstdint>
#include <vector>

#include "tools/replay/chunked_run.h"
#include "tools/replay/replay_result.h"

namespace vramspan::replay {

class RunRecorder {
 public:
  // `run` outlives this.
  RunRecorder(const ChunkedRun* run, bool timeline);

  // What one launch came to.
  struct Launch {
    uint32_t code = 0;
    uint64_t start = 0;
    uint64_t resident = 0, took = 0;
    Stall stall;
    Bytes in_place;
    uint64_t served = 0, fetches = 0;
    double passes = 0;
  };
  void Add(const Launch& launch) {
    Count(&kernels_[launch.code], launch);
    if (timeline_ && launch.stall.total() != 0) {
      stalls_.push_back({launch.start, launch.stall.total()});
    }
  }
  // A chunk came to the device, by a fetch or as new memory, or left it.
  void Came(uint64_t time, ChunkIndex chunk, bool fetched);
  void Left(uint64_t time, ChunkIndex chunk);
  // Packed memory.
  void Packed(uint64_t time, Bytes size, bool came);

  // `duration`: of the whole run.
  void Finish(uint64_t duration, ReplayResult* result);

 private:
  struct Change {
    uint64_t time;
    uint32_t allocation;  // kPacked: of none.
    int64_t bytes;
  };
  struct At {
    uint64_t time;
    uint64_t value;
  };
  static constexpr uint32_t kPacked = ~uint32_t{0};

  static void Count(KernelResult* kernel, const Launch& launch);
  Timeline MakeTimeline(uint64_t duration) const;

  const ChunkedRun& run_;
  const bool timeline_;
  std::vector<KernelResult> kernels_;  // By code.
  std::vector<Change> changes_;
  std::vector<At> fetches_, stalls_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_RUN_RECORDER_H_
