// What a runtime shows of itself while it runs: the bytes of a live record (docs/top.md).
// Anybody's, until Check says otherwise.
//
// Who changes what they mean changes the version, which is in the name of the file as well: a
// reader of another version does not take one for what it is not.
//
// Pure: plain values.
#ifndef VRAMSPAN_RUNTIME_API_LIVE_RECORD_H_
#define VRAMSPAN_RUNTIME_API_LIVE_RECORD_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/base/mix.h"
#include "runtime/scheduler/chunk_move.h"

namespace vramspan {

constexpr char kLiveVersion = '2';

// Counters and sizes, each by the name that it has in vramspanStatistics.
#define VRAMSPAN_LIVE_COUNTERS(X)                                                                 \
  X(device_budget)                                                                                \
  X(device_used)                                                                                  \
  X(device_cached)                                                                                \
  X(host_budget)                                                                                  \
  X(host_used) X(host_cached) X(allocations) X(allocated_bytes) X(peak_allocated_bytes) X(chunks) \
      X(works) X(works_held) X(works_in_place) X(deadlines) X(bytes_in) X(bytes_out)              \
          X(bytes_out_clean) X(bytes_in_place) X(fetches) X(evictions) X(fetches_unused)          \
              X(moves_failed) X(returned) X(trials) X(rests) X(hold_ns) X(copy_in_ns)             \
                  X(copy_out_ns) X(vmm_ns) X(stall_drain_ns) X(stall_copy_ns) X(stall_vmm_ns)     \
                      X(launches) X(copies) X(launches_unknown) X(launches_untried)               \
                          X(launches_plausible) X(launches_proven) X(graphs_cut) X(forecast_hits) \
                              X(forecast_misses) X(lease_state) X(lease_grants) X(lease_recalls)

// What was decided: below kMoveCauses a MoveCause.
enum class LiveWhat : uint32_t {
  kInPlace = kMoveCauses,  // Launches used host memory where it lies.
  kDeadline,               // Launches waited too long, and were let go.
  kFailed,                 // Moves were given up after a call failed.
  kBudget,                 // The device budget is another.
};
inline constexpr uint32_t kLiveWhats = kMoveCauses + 4;

// The same decision over some time counts as one.
struct LiveDecision {
  uint64_t from = 0, until = 0;  // Nanoseconds of the monotonic clock; 0: there is none.
  uint64_t bytes = 0;            // Of a budget: what it became.
  uint32_t count = 0;            // Chunks, or launches.
  uint32_t what = 0;             // LiveWhat or MoveCause.
};
inline constexpr uint32_t kLiveDecisions = 32;

struct LiveMoves {
  uint64_t chunks = 0, bytes = 0;
};

struct LiveRecord {
  static constexpr char kMagic[16] = {'v', 'r', 'a', 'm', 's', 'p', 'a', 'n',
                                      ' ', 'l', 'i', 'v', 'e', ' ', ' ', kLiveVersion};
  static constexpr uint64_t kPricesMeasured = 1, kTraced = 2, kBrokered = 4, kWasShort = 8;

  char magic[16] = {};
  uint64_t sum = 0;  // Of all that follows: a record that is written just now has none.
  // Whose it is.
  uint32_t pid = 0, serial = 0;            // Of several runtimes in a process, by serial.
  uint64_t start = 0;                      // Of the process, as the kernel has it.
  uint64_t space = 0;                      // Its namespace of process numbers.
  uint64_t image = 0;                      // When what runs in it began: later after exec.
  uint64_t exe_device = 0, exe_inode = 0;  // What runs in it; 0: not known.
  char program[32] = {};
  // Of which device.
  char uuid[48] = {}, device[96] = {};
  int64_t ordinal = 0;
  uint64_t device_memory = 0;
  uint64_t move_mb_per_s = 0;   // Each way, while as much goes the other.
  uint64_t serve_mb_per_s = 0;  // Of a kernel that reads host memory in place.
  uint64_t flags = 0;
  // How things stood.
  uint64_t began = 0, written = 0;  // Nanoseconds of the monotonic clock.
  uint64_t charged_bytes = 0;       // What allocations would take as plain device memory.
#define VS_FIELD(name) uint64_t name = 0;
  VRAMSPAN_LIVE_COUNTERS(VS_FIELD)
#undef VS_FIELD
  LiveMoves moved[kMoveCauses];  // By cause, in all.
  LiveDecision decisions[kLiveDecisions];

  uint64_t Sum() const {
    const char* const from = reinterpret_cast<const char*>(&sum) + sizeof(sum);
    const char* const end = reinterpret_cast<const char*>(this) + sizeof(*this);
    uint64_t result = 0;
    for (const char* at = from; at != end; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, at, sizeof(word));
      result = Mix(result, word);
    }
    return result;
  }
  void Seal() {
    std::memcpy(magic, kMagic, sizeof(magic));
    sum = Sum();
  }
  bool Check() const { return std::memcmp(magic, kMagic, sizeof(magic)) == 0 && sum == Sum(); }
};
static_assert(std::is_trivially_copyable_v<LiveRecord> && sizeof(LiveRecord) % 8 == 0);
// One page at most, so that it takes no more of the folder.
static_assert(sizeof(LiveRecord) <= 4096);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_LIVE_RECORD_H_
