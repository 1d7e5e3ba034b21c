// What a replay is asked and what it answers. Pure values.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPLAY_RESULT_H_
#define VRAMSPAN_TOOLS_REPLAY_REPLAY_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/placement/pins.h"
#include "runtime/scheduler/overlap.h"

namespace vramspan::replay {

// What may move beside running work (docs/overlap.md), as Overlap has it. kDeclared: every launch
// says what it touches, as vramspanWorkBegin does, and nothing is learnt from how it runs.
enum class ReplayOverlap : uint8_t { kOff, kProven, kAuto, kSafe, kAll, kDeclared };

constexpr std::optional<Overlap> TracedOverlap(ReplayOverlap overlap) {
  if (overlap == ReplayOverlap::kDeclared) return std::nullopt;
  return static_cast<Overlap>(overlap);
}
constexpr ReplayOverlap ReplayOverlapOf(Overlap overlap) {
  return static_cast<ReplayOverlap>(overlap);
}
static_assert(ReplayOverlapOf(Overlap::kAll) == ReplayOverlap::kAll &&
              ReplayOverlapOf(Overlap::kOff) == ReplayOverlap::kOff);

// The name of one, or nothing where it names none.
std::optional<ReplayOverlap> ReplayOverlapOf(std::string_view name);
const char* OverlapName(ReplayOverlap overlap);

// The name of the bound as a policy: Belady's, with bypass.
inline constexpr char kMinPolicy[] = "min";

struct ReplaySetting {
  std::string policy = "cost";  // Of the runtime's, or kMinPolicy.
  Bytes device_memory;
  int chunk_log2 = 0;  // 0: by size, as the runtime chooses.
  ReplayOverlap overlap = ReplayOverlap::kOff;
  std::vector<Pin> pins;  // Kept on the device, but by kMinPolicy; as ParsePins gives them.
  bool timeline = false;
  bool moves = false;  // ReplayResult::moves is wanted.
};

// A chunk that changed sides.
struct ReplayedMove {
  uint64_t time = 0;  // Of its end.
  ChunkIndex chunk;
  bool in = false;
  bool clean = false;  // Nothing was copied.
};

// Nanoseconds that work waited though it could have started, by what it waited for.
struct Stall {
  uint64_t copy = 0;   // Its memory was on its way.
  uint64_t vmm = 0;    // The mover's thread was at its calls, or the launch was just let go.
  uint64_t drain = 0;  // Nothing moved: running work had to end first.

  uint64_t total() const { return copy + vmm + drain; }
  Stall& operator+=(const Stall& o) {
    copy += o.copy;
    vmm += o.vmm;
    drain += o.drain;
    return *this;
  }
};

struct KernelResult {
  uint32_t code = 0;  // Index into the run's codes.
  uint64_t launches = 0;
  uint64_t resident = 0;   // Nanoseconds with all its memory on the device,
  uint64_t predicted = 0;  // and as it ran, with what it waited for.
  Stall stall;
  Bytes in_place;
  uint64_t served = 0;   // Chunk accesses in place.
  uint64_t fetches = 0;  // Chunks moved in that it was the first to use, and those served.
  double passes = 0;     // The most that were reckoned with.
};

struct Timeline {
  static constexpr uint32_t kBins = 200;
  static constexpr size_t kMostAllocations = 40;

  struct Row {
    uint32_t allocation = 0;
    std::vector<float> resident;  // Fraction of its bytes on the device, by bin.
  };
  uint64_t bin = 0;  // Nanoseconds.
  std::vector<Row> rows;
  std::vector<uint64_t> device_bytes, fetches, stall;  // By bin.
};

struct ReplayResult {
  ReplaySetting setting;
  uint64_t predicted = 0, resident = 0;  // Nanoseconds, from the first submission on.
  uint64_t begun = 0;                    // Until then.
  // Of the median round (rounds.h); 0: none were found. And of that of each phase.
  uint64_t round = 0, resident_round = 0;
  std::vector<uint64_t> phases, resident_phases;
  // All rounds of all phases, by their medians; 0: they are too small a part of the run.
  uint64_t repeated = 0, resident_repeated = 0;
  Stall stall;
  uint64_t in_place_time = 0;  // That work took longer because memory was served in place.
  uint64_t fetches = 0;
  uint64_t bound_fetches = 0;
  bool bound_exact = true;
  uint64_t moves_in = 0, moves_out = 0, served_in_place = 0;
  Bytes bytes_in, bytes_out, bytes_in_place;
  uint64_t accesses = 0;              // Chunks that work named, each once a work.
  std::vector<KernelResult> kernels;  // Dearest first.
  std::optional<Timeline> timeline;
  std::vector<ReplayedMove> moves;  // By time, where they were asked for.
};

inline double Slowdown(const ReplayResult& r) {
  return r.resident == 0 ? 1 : static_cast<double>(r.predicted) / static_cast<double>(r.resident);
}

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPLAY_RESULT_H_
