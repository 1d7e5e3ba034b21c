// Events that a scheduler was told, told again to one of this build (docs/events-format.md): does
// it answer the same? Who changes a rule sees what a live run would have decided otherwise.
//
// The events may be anybody's. What the scheduler requires of its owner is checked before each is
// told, so nothing in a file can break it.
#ifndef VRAMSPAN_TOOLS_REPLAY_REPEAT_EVENTS_H_
#define VRAMSPAN_TOOLS_REPLAY_REPEAT_EVENTS_H_

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/placement/policy.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/trace/scheduler_decoder.h"
#include "runtime/trace/scheduler_records.h"

namespace vramspan::replay {

// The first event that came to something else.
struct EventDifference {
  uint64_t event = 0;  // Counted from 1.
  std::string name;
  Duration at{0};  // Since the first time that was told.
  std::string recorded, now;
};

struct RepeatedEvents {
  std::string program, policy;
  uint64_t events = 0;   // That were told,
  uint64_t actions = 0;  // and answered with an action.
  uint64_t most_held = 0;
  bool whole = false;  // The file has its end.
  std::string damage;  // Why nothing was told from some event on; empty: all was.
  std::optional<EventDifference> difference;
};

class EventRepeater final : SchedulerOwner {
 public:
  EventRepeater() = default;
  EventRepeater(const EventRepeater&) = delete;
  EventRepeater& operator=(const EventRepeater&) = delete;

  // The next bytes. False: there is a difference, or damage, and no more is wanted.
  bool Take(absl::Span<const uint8_t> bytes);
  // So far. An event is told when the next record comes: of a file without an end the last one may
  // lack its answer.
  const RepeatedEvents& result() const { return result_; }

 private:
  using Kind = SchedulerEvent::Kind;
  // How far work has come.
  enum class WorkStage : uint8_t { kNew, kHeld, kReady, kReleased, kCounted };
  struct KnownWork : Work {
    std::vector<ChunkUse> all;
    WorkStage stage = WorkStage::kNew;
  };
  // An event with what was recorded of it, until all of that is known.
  struct Pending {
    trace::EventRecord event;
    std::vector<size_t> asked;  // Each time the owner was asked, with which of `runs` it begins.
    std::vector<trace::RunsRecord> runs;
    std::vector<ChunkIndex> dropped;
    std::optional<trace::AnswerRecord> answer;
  };

  void DropHostCopy(ChunkIndex chunk) override;
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) override;

  // --- records: whether to go on; `damage` or `difference` say why not ---
  bool TakeRecord(const trace::SchedulerRecord& record);
  bool Damaged(std::string_view why);
  bool Differs(std::string recorded, std::string now);
  bool Construct(const trace::MadeRecord& made);
  bool TakeChunk(const trace::ChunkRecord& record);
  bool TakeWork(const trace::WorkRecord& record);
  // Tells the pending event, if there is one, and compares.
  bool TellPending();

  // --- calls: false where the event makes no sense here, and then nothing is called ---
  bool Call(const trace::EventRecord& e, EventAnswer* answer);
  bool CallOfAll(const trace::EventRecord& e, EventAnswer* answer);
  bool CallOfWork(const trace::EventRecord& e, EventAnswer* answer);
  bool CallOfMove(const trace::EventRecord& e, EventAnswer* answer);
  bool CallOfChunk(const trace::EventRecord& e, EventAnswer* answer);
  bool Acted(const Action& action);
  void Forget(const KnownWork& work);
  bool IsChunk(ChunkIndex chunk) const { return chunk && chunk.value < chunks_->end(); }
  bool IsTime(Instant time);
  bool UsesLive(const KnownWork& work) const;

  trace::SchedulerDecoder decoder_;
  RepeatedEvents result_;
  bool over_ = false;
  std::optional<Instant> first_time_;
  Instant time_;  // That was told last.

  std::unique_ptr<EvictionPolicy> policy_;
  std::unique_ptr<ChunkTable> chunks_;
  std::optional<Scheduler> scheduler_;
  std::vector<uint16_t> kept_mapped_;  // Of each chunk, by others than work: mapped_only.
  std::vector<uint64_t> used_by_;      // Of each chunk, the work that was taken in last,
  uint64_t works_ = 0;                 // which have been so many.
  absl::flat_hash_map<uint64_t, std::unique_ptr<KnownWork>> known_;
  KnownWork* ready_ = nullptr;     // Is to be released next.
  std::vector<ChunkMove*> moves_;  // By place; null: none is under way.
  ChunkIndex mapping_;             // Is being mapped on the host.
  std::optional<Pending> pending_;
  std::vector<ChunkIndex> dropped_;  // Meanwhile,
  size_t asked_ = 0;                 // and so often what runs was asked.
};

// All events of a file. NotFound, or FailedPrecondition where it cannot be read or is none; damage
// behind its beginning is in the result.
StatusOr<RepeatedEvents> RepeatEvents(const std::string& path);
StatusOr<RepeatedEvents> RepeatEventsOf(std::string_view bytes);

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_REPEAT_EVENTS_H_
