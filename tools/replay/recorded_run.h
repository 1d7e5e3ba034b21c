// A recorded run of a program in memory: what it allocated, freed and submitted, in its order, and
// what came of it. Made from a trace of ours (load_trace.h) or of others (the importers); replay,
// curves, exports and reports read it. Pure values.
//
// Allocations are named by index, not by address, for addresses come again. Equal sets of ranges
// are kept once: a loop of a million launches takes as many Works and a few sets.
#ifndef VRAMSPAN_TOOLS_REPLAY_RECORDED_RUN_H_
#define VRAMSPAN_TOOLS_REPLAY_RECORDED_RUN_H_

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/trust.h"
#include "runtime/base/units.h"

namespace vramspan::replay {

// Times are nanoseconds since the run began.
inline constexpr uint64_t kNever = ~uint64_t{0};

struct RecordedAllocation {
  DevicePtr base;
  Bytes size;
  uint64_t allocated = 0;
  uint64_t freed = kNever;
  std::string name;  // As whoever recorded it calls it; mostly empty.
};

// A piece of an allocation that work touches.
struct RecordedRange {
  uint32_t allocation = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint16_t slot = 0;     // Of a kernel: which 8 bytes of its parameters name it; else 0.
  bool write = true;     // False only where it is known that it is only read.
  bool exact = false;    // Every byte is touched, once (copies and fills). False: as inferred.
  bool settled = false;  // Inferred, and its end has proved itself.
  // What may be touched beside it, or by it if it is no more than possible, is so by a pointer to a
  // block that its allocator told of: memory that is nobody's is not meant.
  bool told = false;

  bool operator==(const RecordedRange&) const = default;
};

enum class WorkKind : uint8_t {
  kKernel = 0,
  kGraph = 1,
  kCopy = 2,
  kDeclared = 3,
  kUnknown = 4,
  kForeign = 5,  // Of another context; it may touch all memory.
};

// What is launched: equal where the work is the same.
struct RecordedCode {
  std::string name;
  uint64_t shape = 0;  // Of a kernel: a hash of its grid and blocks.
  // Index of the first code of the same function in about as many blocks; null: this one is.
  std::optional<uint32_t> alike = std::nullopt;
};

struct RecordedWork {
  uint64_t submitted = 0;
  uint64_t start = 0;  // On the device. Equal to `end` where it was not measured.
  uint64_t end = 0;
  uint64_t remote = 0;  // Bytes of its memory that lay on the host while it ran.
  uint64_t cost = 0;    // Of its thread, to record it.
  uint32_t stream = 0;  // Small numbers, by order of appearance.
  uint32_t code = 0;    // Index into codes.
  uint32_t set = 0;     // Index into sets.
  WorkKind kind = WorkKind::kKernel;
  bool complete = true;           // False: it may touch memory that nobody could tell.
  Trust trust = Trust::kUntried;  // Of a launch's code, where that is told.
  bool guessed = false;           // Its times are those of its likes (FillTimes).

  bool timed() const { return end > start; }
};

// One call of the program, in the order of the calls.
struct RecordedStep {
  enum class Kind : uint8_t { kAllocate, kFree, kWork };
  Kind kind;
  uint32_t index;  // Into allocations or works.
};

// What the runtime did while it was recorded, for comparison.
struct RecordedMove {
  uint64_t time = 0;  // Of its end.
  uint64_t duration = 0;
  uint32_t allocation = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  bool in = false;     // To the device.
  bool clean = false;  // Nothing was copied.
};

// A piece of an allocation that was compared with itself: behind one piece of work, and behind a
// later one.
struct RecordedComparison {
  uint32_t allocation = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t first = 0, last = 0;  // Works.
  bool same = false;

  bool operator==(const RecordedComparison&) const = default;
};

// A thread of the program waited for its device, in a call that returns when that is done.
struct RecordedWait {
  enum class For : uint8_t { kAll, kEvent, kStream };

  uint64_t time = 0;  // When it ended.
  uint64_t duration = 0;
  For what = For::kAll;
  uint32_t stream = 0;  // Of kStream.

  bool operator==(const RecordedWait&) const = default;
};

// A piece of an allocation whose contents the program gave up, behind all work submitted before, or
// that it may have handed out again since.
struct RecordedDiscard {
  enum class Kind : uint8_t {
    kContents,
    kUnowned,  // And it is nobody's,
    kOwned,    // until then.
  };

  uint64_t time = 0;
  uint32_t allocation = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t step = 0;  // It comes before this one; at the end: behind the last.
  Kind kind = Kind::kContents;

  bool operator==(const RecordedDiscard&) const = default;
};

// The machine and the settings of the run. Zero or empty: not known.
struct RecordedSetting {
  std::string program;  // Its command line.
  std::string device;   // Name of the GPU.
  std::string device_uuid;
  Bytes device_memory;  // Of the GPU.
  Bytes device_budget;  // That the run was held to.
  Bytes host_budget;
  std::string policy, overlap;
  int chunk_log2 = 0;  // 0: chosen by size.
  double serve_gb_per_s = 0, move_gb_per_s = 0, device_gb_per_s = 0;
  std::string source;            // "vramspan", "pytorch-et", "oracle-general".
  bool estimated_times = false;  // Durations are guesses, not measurements.
  bool waits_told = false;       // All that the program waited for is in `waits`.
  // What work may touch beside what it likely does is told: RecordedRange::settled, may_touch.
  bool possible_told = false;
  bool trust_told = false;  // How far the code of launches was trusted is told.
};

class RecordedRun {
 public:
  RecordedSetting setting;
  std::vector<RecordedAllocation> allocations;
  std::vector<RecordedCode> codes;
  std::vector<RecordedWork> works;
  std::vector<RecordedStep> steps;
  std::vector<RecordedMove> moves;
  std::vector<RecordedComparison> comparisons;  // In the order of their last works.
  std::vector<RecordedWait> waits;              // In the order of their ends.
  std::vector<RecordedDiscard> discards;        // In the order of their steps.
  // What is wrong or missing, in sentences: a cut file, a free of what was never allocated.
  std::vector<std::string> problems;
  // What else there is to know of how it was read: an importer left out another GPU's tensors.
  std::vector<std::string> notes;

  // The index of the set with these ranges, in this order; added where it is not there yet. The
  // last `possible` of them are what the work may touch and likely does not.
  uint32_t AddSet(absl::Span<const RecordedRange> ranges, uint32_t possible = 0);
  absl::Span<const RecordedRange> set(uint32_t index) const {
    return absl::MakeConstSpan(ranges_).subspan(sets_[index].first, sets_[index].count);
  }
  absl::Span<const RecordedRange> may_touch(uint32_t index) const {
    const Set& s = sets_[index];
    return absl::MakeConstSpan(ranges_).subspan(s.first + s.count, s.possible);
  }
  uint32_t sets() const { return static_cast<uint32_t>(sets_.size()); }
  // The code that stands for it and all that are like it.
  uint32_t alike(uint32_t code) const { return codes[code].alike.value_or(code); }

  // The most bytes that were allocated at once, each allocation rounded up to 2 MiB (up to 1 MiB:
  // as it is, since those are packed).
  Bytes PeakBytes() const;
  // From the first submission to what came last, as recorded: an end, an allocation or a free.
  uint64_t Duration() const;
  // Indices and times hold together: every index is in range, no range leaves its allocation, every
  // step's work, allocation and free occurs once. For tests and for what was read from outside.
  Status Check() const;

 private:
  struct Set {
    size_t first = 0;
    uint32_t count = 0;
    uint32_t possible = 0;  // Behind them.
  };
  std::vector<RecordedRange> ranges_;
  std::vector<Set> sets_;
  absl::flat_hash_map<uint64_t, std::vector<uint32_t>> by_hash_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_RECORDED_RUN_H_
