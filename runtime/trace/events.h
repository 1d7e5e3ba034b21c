// What a trace tells: one struct for each type of event. docs/trace-format.md is their grammar on
// disk; the values of the enums stand there too, and never change.
//
// Times are nanoseconds since the trace began, on the clock of the process that was recorded.
#ifndef VRAMSPAN_RUNTIME_TRACE_EVENTS_H_
#define VRAMSPAN_RUNTIME_TRACE_EVENTS_H_

#include <absl/types/span.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/trust.h"
#include "runtime/base/units.h"

namespace vramspan::trace {

enum class EventType : uint8_t {
  kAllocate = 1,
  kFree = 2,
  kCode = 3,
  kWork = 4,
  kTimes = 5,
  kMove = 6,
  kBudget = 7,
  kLost = 8,
  kEnd = 9,
  kCompare = 10,
  kWait = 11,
  kCost = 12,
  kDiscard = 13,
  kAlike = 14,
  kOwn = 15,
};

struct AllocateEvent {
  uint64_t time = 0;
  DevicePtr base;
  Bytes size;
};

struct FreeEvent {
  uint64_t time = 0;
  DevicePtr base;
};

// What a number in WorkEvent::code stands for. May come in another block than its use, also a later
// one.
struct CodeEvent {
  uint32_t code = 0;
  uint64_t shape = 0;  // Of a kernel: a hash of its grid and blocks.
  std::string name;    // As the driver has it (mangled); empty where it has none.
};

struct TracedRange {
  DevicePtr ptr;
  Bytes size;
  uint16_t slot = 0;  // Of a kernel: which 8 bytes of its parameters held the pointer.
  bool write = true;
  bool exact = false;  // Every byte is touched, once. False: as inferred.
  // Where the header says `possible`. Of a range that is inferred: its end has proved itself. The
  // work may touch the rest of the allocation too, but that would be new.
  bool settled = false;
  bool possible = false;  // The work may touch it, and most likely does not.
  // What may be touched beside an inferred range, or all of one that is possible, is so by a
  // pointer to a block that its allocator told of: memory that is nobody's is not meant.
  bool told = false;

  bool operator==(const TracedRange&) const = default;
};

struct WorkEvent {
  enum class Kind : uint8_t {
    kKernel = 0,
    kGraph = 1,
    kCopy = 2,
    kDeclared = 3,
    kUnknown = 4,
    kForeign = 5,  // Of another context, in this program's memory, of which it may touch all.
  };

  uint64_t time = 0;
  uint64_t id = 0;  // Counts up through the whole trace; what TimesEvent refers to.
  uint32_t stream = 0;
  uint32_t code = 0;
  Kind kind = Kind::kKernel;
  bool complete = true;  // False: it may touch memory that nobody could tell.
  // Where the header says `trust`: how far the code of a launch was trusted; of a graph the least.
  Trust trust = Trust::kUntried;
  std::vector<TracedRange> ranges;
  // Of an event that was read, whose ranges are those of the last of this code in its block: these,
  // until the next event is read. A loop of launches costs no copy of them each.
  const std::vector<TracedRange>* before = nullptr;

  const std::vector<TracedRange>& told() const { return before != nullptr ? *before : ranges; }
};

// When work ran on the device. Work that has none was not measured.
struct TimesEvent {
  uint64_t id = 0;
  uint64_t start = 0;
  uint64_t duration = 0;
  Bytes remote;  // Of its memory, on the host while it ran.
};

struct MoveEvent {
  uint64_t time = 0;  // When it was done.
  uint64_t duration = 0;
  DevicePtr base;
  Bytes size;
  bool in = false;     // To the device.
  bool clean = false;  // Nothing was copied.
};

struct BudgetEvent {
  uint64_t time = 0;
  Bytes device;
};

// So many events are missing here: the disk did not keep up, or memory ran short.
struct LostEvent {
  uint64_t count = 0;
};

// The trace was closed in order. Without it the program was killed, or the file cut.
struct EndEvent {
  uint64_t time = 0;
};

// Fingerprints of a chunk were taken in the streams of two pieces of work, right behind them.
struct CompareEvent {
  DevicePtr base;
  Bytes size;
  uint64_t first = 0, last = 0;  // Their ids.
  bool same = false;             // Nothing had changed.
};

// A thread of the program waited for its device, in a call that returns when that is done.
struct WaitEvent {
  enum class For : uint8_t { kAll = 0, kEvent = 1, kStream = 2 };

  uint64_t time = 0;  // When it ended.
  uint64_t duration = 0;
  For what = For::kAll;  // All work of the context, what is before an event, or in `stream`.
  uint32_t stream = 0;
};

// What recording took of the thread itself for its last pieces of work, so many: a run that is not
// recorded does not have that.
struct CostEvent {
  uint64_t works = 0;
  uint64_t nanoseconds = 0;  // For all of them.
};

// The program does not want what is in the range any more, behind all work that was submitted.
struct DiscardEvent {
  uint64_t time = 0;
  DevicePtr base;
  Bytes size;
  bool unowned = false;  // And it is nobody's, until an OwnEvent.
};

// Somebody may have been handed the range, or a part of it, before the work that is submitted next.
struct OwnEvent {
  uint64_t time = 0;
  DevicePtr base;
  Bytes size;  // 0: all memory.
};

// A kernel in another shape, of about as many blocks: what is learnt of one holds for both.
struct AlikeEvent {
  uint32_t code = 0;
  uint32_t first = 0;  // The code that stands for both; it is like itself.
};

using Event = std::variant<AllocateEvent, FreeEvent, CodeEvent, WorkEvent, TimesEvent, MoveEvent,
                           BudgetEvent, LostEvent, EndEvent, CompareEvent, WaitEvent, CostEvent,
                           DiscardEvent, AlikeEvent, OwnEvent>;

// The beginning of a trace: who was recorded, where, and how. As text in the file, a line for each,
// so that lines can be added.
struct Header {
  uint32_t version = 0;
  uint64_t pid = 0;
  uint64_t began_unix_ns = 0;
  std::string program;  // The command line.
  std::string device, device_uuid;
  Bytes device_memory, device_budget, host_budget;
  std::string policy, overlap, times;  // `times`: how work is measured; "none", "events", "given".
  int chunk_log2 = 0;                  // 0: chosen by size.
  double serve_gb_per_s = 0, move_gb_per_s = 0, device_gb_per_s = 0;
  std::string source = "vramspan";
  int waits = 0;     // 1: what the program waits for is told (WaitEvent).
  int possible = 0;  // 1: what work may touch is told (TracedRange), and work of other contexts.
  int trust = 0;     // 1: how far the code of launches is trusted is told.
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_EVENTS_H_
