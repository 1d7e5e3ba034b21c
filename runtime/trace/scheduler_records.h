// What a file of events consists of: records, one behind the other, in the order in which things
// happened (docs/events-format.md). The encoder writes them, the decoder reads them.
#ifndef VRAMSPAN_RUNTIME_TRACE_SCHEDULER_RECORDS_H_
#define VRAMSPAN_RUNTIME_TRACE_SCHEDULER_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/scheduler/event_sink.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/space/chunk.h"

namespace vramspan::trace {

inline constexpr char kEventsMark[8] = {'V', 'S', 'E', 'V', 'E', 'N', 'T', 'S'};
inline constexpr uint16_t kEventsVersion = 1;

// A record's first byte. Below these: an event of that kind.
enum class SchedulerRecordType : uint8_t {
  kMade = 64,
  kChunk,
  kWork,
  kAsked,
  kRuns,
  kDropped,
  kAnswer,
  kEnd,
};
static_assert(static_cast<int>(SchedulerEvent::Kind::kCount) <=
              static_cast<int>(SchedulerRecordType::kMade));

// What others than the scheduler determine of a chunk. Slots are there or not; its allocation is
// one, or packed objects.
struct ChunkFacts {
  uint32_t bits = 0;
  uint16_t mapped_only = 0;  // Of all work, the scheduler's counts included.

  static ChunkFacts Of(const Chunk& c);
  // As they would be in a chunk that is otherwise like `c`.
  void Put(Chunk* c) const;
  bool unmapped() const;
  bool operator==(const ChunkFacts&) const = default;
};

struct MadeRecord {
  SchedulerOptions options;
  std::string policy;
};
struct ChunkRecord {
  ChunkIndex chunk;
  bool removed = false;  // It was, since it was last told of; what is there now is another.
  ChunkFacts facts;
};
struct WorkRecord {
  Work work;  // Without its chunks:
  std::vector<ChunkUse> all;
  uint32_t likely = 0, possible = 0;  // So many of them are.
};
struct EventRecord {
  SchedulerEvent::Kind kind = SchedulerEvent::Kind::kNext;
  uint64_t work = 0;
  uint32_t move = 0;  // Its place.
  Moment at;
  std::optional<Fingerprint> print;
  ChunkIndex chunk;
  Instant now, other;
  uint64_t value = 0, second = 0, third = 0;
};
struct AskedRecord {};
struct RunsRecord {
  uint64_t work = 0;
  bool submitted = false;
  bool operator==(const RunsRecord&) const = default;
};
struct DroppedRecord {
  ChunkIndex chunk;
};
// An answer as numbers, so that two can be compared.
struct AnswerRecord {
  uint64_t value = 0;
  Action::Kind kind = Action::Kind::kNothing;  // Of kNext; then these of what it has:
  uint64_t work = 0;
  ChunkIndex chunk;
  uint32_t place = 0;
  uint8_t flags = 0;  // Of the work, or the move; see FlagNames.

  static AnswerRecord Of(const EventAnswer& answer);
  bool operator==(const AnswerRecord&) const = default;
};
struct EndRecord {
  uint64_t events = 0;
};

using SchedulerRecord = std::variant<MadeRecord, ChunkRecord, WorkRecord, EventRecord, AskedRecord,
                                     RunsRecord, DroppedRecord, AnswerRecord, EndRecord>;

// What both halves keep of the records before, so that most of the next is a difference of nothing.
struct SchedulerRecordState {
  uint64_t time = 0;
  uint64_t work = 0;
  uint64_t chunk = 0;
  uint64_t budget = 0, used = 0, available = 0;
};

}  // namespace vramspan::trace

#endif  // VRAMSPAN_RUNTIME_TRACE_SCHEDULER_RECORDS_H_
