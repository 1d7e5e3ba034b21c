// What goes into the scheduler, as data: each call that others make, with its time, and what it
// answered. Who records these can have them repeated: the same events give the same answers
// (docs/scheduler.md, "Events recorded").
//
// Pure: plain values, and an interface that is called by the scheduler's one owner.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_EVENT_SINK_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_EVENT_SINK_H_

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "runtime/base/units.h"
#include "runtime/placement/kernel_history.h"
#include "runtime/scheduler/action.h"
#include "runtime/scheduler/chunk_move.h"
#include "runtime/scheduler/work.h"
#include "runtime/space/chunk_table.h"

namespace vramspan {

struct SchedulerOptions;

// Which price it is, as an event has it: the slot, then whether it is wide and sure.
constexpr uint64_t PackedPrice(const ArgumentPrice& price) {
  return price.slot | uint64_t{price.wide} << 16 | uint64_t{price.sure} << 17;
}
constexpr ArgumentPrice UnpackedPrice(uint64_t packed, double passes) {
  return {.slot = static_cast<uint16_t>(packed),
          .wide = (packed >> 16 & 1) != 0,
          .sure = (packed >> 17 & 1) != 0,
          .passes = passes};
}

// One call. Which of the values it has is said once, by FieldsOf; the others are as new.
struct SchedulerEvent {
  // In files: a number keeps its meaning, and new ones come last.
  enum class Kind : uint8_t {
    kNext,
    kDue,
    kRefused,
    kBeginRemap,
    kRemapped,
    kUnmapped,
    kGiveUp,
    kMappedOnHost,
    kLookAgain,
    kUsersDeclared,
    kTrack,
    kShareContext,
    kWant,
    kTeach,
    kFull,
    kSubmit,
    kSetInSubmission,
    kFollowedBy,
    kCancelled,
    kCounted,
    kCountedEnded,
    kArrived,
    kArrivesUntold,
    kReleased,
    kFinished,
    kLooked,
    kForeignWorkBegan,
    kForeignWorkEnded,
    kAnyMayBeWritten,
    kContextDied,
    kAllInPlace,
    kMustWait,
    kQueryBegan,
    kQueryMustWait,
    kQueryEnded,
    kKeepMappedUntil,
    kMapAll,
    kStarted,
    kCopied,
    kNotRemapped,
    kDetach,
    kDetachedEnded,
    kFound,
    kInserted,
    kRemoved,
    kAdvised,
    kGivenUp,
    kOwned,
    kKnow,
    kKnowArgument,
    kCount
  };

  Kind kind = Kind::kNext;
  const Work* work = nullptr;
  const ChunkMove* move = nullptr;
  const Moment* at = nullptr;
  const Fingerprint* print = nullptr;
  ChunkIndex chunk;
  Instant now;
  Instant other;  // A second time: when work began, until when to wait.
  uint64_t value = 0, second = 0, third = 0;
};

// Whether it is told to a policy, which may be in the middle of a change of chunks.
constexpr bool IsToldToPolicy(SchedulerEvent::Kind kind) {
  using Kind = SchedulerEvent::Kind;
  return kind == Kind::kInserted || kind == Kind::kRemoved || kind == Kind::kAdvised;
}

// Which values an event of a kind has.
struct EventFields {
  bool work : 1 = false;
  bool move : 1 = false;
  bool moment : 1 = false;
  bool print : 1 = false;  // Or none.
  bool chunk : 1 = false;
  bool now : 1 = false;
  bool other : 1 = false;
  uint8_t values : 2 = 0;  // So many of value, second and third.
  bool answers : 1 = false;
};
EventFields FieldsOf(SchedulerEvent::Kind kind);
// As the function that was called; for messages.
const char* EventName(SchedulerEvent::Kind kind);

// What the call came to.
struct EventAnswer {
  uint64_t value = 0;
  Action action;  // Of kNext.
};

class EventSink {
 public:
  // The scheduler is made, and decides about these chunks. Before all events.
  virtual void Made(ChunkTable* chunks, const SchedulerOptions& options,
                    std::string_view policy) = 0;
  // An event, before it changes anything. What others did to chunks until now came before it.
  virtual void Begin(const SchedulerEvent& event) = 0;
  // What its owner says and does meanwhile: it was asked what runs, named that, and dropped a host
  // copy.
  virtual void AskedWhatRuns() = 0;
  virtual void Runs(const Work& work) = 0;
  virtual void Dropped(ChunkIndex chunk) = 0;
  // The event is over.
  virtual void End(const SchedulerEvent& event, const EventAnswer& answer) = 0;

 protected:
  ~EventSink() = default;
};

// Tells a sink of events around what they do. Null: nobody is told.
class EventTeller {
 public:
  explicit EventTeller(EventSink* sink) : sink_(sink) {}

  template <typename Act>
  auto operator()(const SchedulerEvent& event, Act act) const {
    if (sink_ == nullptr) [[likely]]
      return act();
    sink_->Begin(event);
    if constexpr (std::is_void_v<decltype(act())>) {
      act();
      sink_->End(event, {});
    } else {
      const auto answer = act();
      sink_->End(event, Answer(answer));
      return answer;
    }
  }

 private:
  static EventAnswer Answer(const Action& action) { return {.action = action}; }
  static EventAnswer Answer(Instant time) {
    return {.value = static_cast<uint64_t>(time.time_since_epoch().count())};
  }
  template <typename T>
  static EventAnswer Answer(T value) {
    return {.value = static_cast<uint64_t>(value)};
  }

  EventSink* const sink_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_EVENT_SINK_H_
