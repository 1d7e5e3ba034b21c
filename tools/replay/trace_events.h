// The events of a trace as they are read: a list of the program's calls, block by block, and what
// is told of them. traced_order.h makes a run of it.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_TRACE_EVENTS_H_
#define VRAMSPAN_TOOLS_REPLAY_TRACE_EVENTS_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/trace/events.h"
#include "tools/replay/open_work.h"
#include "tools/replay/raw_sets.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/run_limits.h"
#include "tools/replay/trace_problems.h"

namespace vramspan::replay {

// A call of the program, before the threads' calls are put into one order.
struct TracedCall {
  enum class Kind : uint8_t { kFree, kAllocate, kWork, kMove, kDiscard };

  uint64_t time = 0;
  Kind kind = Kind::kWork;
  uint32_t block = 0;  // Where it was told: an index.
  DevicePtr base;      // Of an allocation, a free, or what is discarded or owned,
  Bytes size;          // and its size, but for a free; 0: all memory is owned.
  uint32_t index = 0;  // Of work, or of a move.
  RecordedDiscard::Kind discard = {};
};

struct TracedEvents {
  std::vector<size_t> blocks;  // Their offsets, those that events came from.
  std::vector<TracedCall> calls;
  std::vector<RecordedWork> works;              // As the file has them; their sets are raw ones.
  absl::flat_hash_map<uint64_t, uint32_t> ids;  // Of work, to its index in works.
  std::vector<trace::TimesEvent> times;
  std::vector<trace::MoveEvent> moves;
  std::vector<trace::CompareEvent> compared;
  std::vector<RecordedCode> codes;
  std::vector<RecordedWait> waits;
  RawSets sets;

  // ResourceExhausted with the place.
  Status TooMuch(uint32_t block, uint64_t most, std::string_view of) const;
};

class TraceEvents {
 public:
  // `problems` outlives it.
  TraceEvents(const RunLimits& limits, TraceProblems* problems)
      : limits_(limits), problems_(*problems) {}

  // `offset`: of the event's block. An error ends the reading.
  Status Take(size_t offset, uint32_t thread, const trace::Event& event);
  // No event comes any more.
  TracedEvents Finish();

 private:
  void Take(const trace::AllocateEvent& e);
  void Take(const trace::FreeEvent& e);
  void Take(const trace::CodeEvent& e);
  void Take(const trace::WorkEvent& e);
  void Take(const trace::TimesEvent& e);
  void Take(const trace::MoveEvent& e);
  void Take(const trace::BudgetEvent&) {}
  void Take(const trace::CompareEvent& e) { events_.compared.push_back(e); }
  void Take(const trace::WaitEvent& e);
  void Take(const trace::CostEvent& e);
  void Take(const trace::DiscardEvent& e);
  void Take(const trace::OwnEvent& e);
  void Take(const trace::AlikeEvent& e);
  void Take(const trace::LostEvent&) {}
  void Take(const trace::EndEvent&) {}

  void CloseWork();
  uint32_t CodeIndex(uint32_t code);
  // Tables are made by stream, so a file cannot say how large they are.
  uint32_t StreamIndex(uint32_t stream);

  const RunLimits limits_;
  TraceProblems& problems_;
  TracedEvents events_;
  OpenWork open_;
  uint32_t block_ = 0;   // Of the event that is taken,
  uint32_t thread_ = 0;  // and the thread that it is of.
  uint64_t taken_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> codes_;  // Number to index.
  absl::flat_hash_map<uint32_t, uint32_t> large_streams_;
  // By thread, since it told of a cost.
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> uncosted_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_TRACE_EVENTS_H_
