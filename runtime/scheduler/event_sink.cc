#include "runtime/scheduler/event_sink.h"

#include <array>

namespace vramspan {
namespace {

struct Row {
  const char* name;
  EventFields fields;
};

// In the order of the kinds.
constexpr std::array<Row, static_cast<size_t>(SchedulerEvent::Kind::kCount)> kRows = {{
    {"Next", {.moment = true, .answers = true}},
    {"Due", {.moment = true, .other = true, .answers = true}},
    {"Refused", {.move = true, .now = true, .values = 1}},
    {"BeginRemap", {.move = true, .now = true, .answers = true}},
    {"Remapped", {.move = true, .now = true, .values = 2}},
    {"Unmapped", {.move = true, .now = true, .values = 1}},
    {"GiveUp", {.move = true, .now = true, .values = 1}},
    {"MappedOnHost", {.chunk = true, .now = true, .values = 1}},
    {"LookAgain", {}},
    {"UsersDeclared", {.chunk = true}},
    {"Track", {.values = 1}},
    {"ShareContext", {}},
    {"Want", {.work = true}},
    {"Teach", {.values = 3}},
    {"Full", {.values = 1, .answers = true}},
    {"Submit", {.work = true, .moment = true, .other = true, .values = 1, .answers = true}},
    {"SetInSubmission", {.work = true, .values = 1}},
    {"FollowedBy", {.work = true, .values = 1}},
    {"Cancelled", {.work = true, .answers = true}},
    {"Counted", {.work = true}},
    {"CountedEnded", {.work = true}},
    {"Arrived", {.work = true}},
    {"ArrivesUntold", {.work = true}},
    {"Released", {.work = true, .moment = true, .answers = true}},
    {"Finished", {.work = true, .now = true, .other = true, .values = 1}},
    {"Looked", {.now = true, .answers = true}},
    {"ForeignWorkBegan", {.now = true}},
    {"ForeignWorkEnded", {.answers = true}},
    {"AnyMayBeWritten", {.values = 1}},
    {"ContextDied", {}},
    {"AllInPlace", {}},
    {"MustWait", {.work = true, .answers = true}},
    {"QueryBegan", {}},
    {"QueryMustWait", {.answers = true}},
    {"QueryEnded", {.answers = true}},
    {"KeepMappedUntil", {.other = true}},
    {"MapAll", {.values = 1}},
    {"Started", {.move = true}},
    {"Copied", {.move = true, .print = true, .values = 1}},
    {"NotRemapped", {.move = true}},
    {"Detach", {.move = true}},
    {"DetachedEnded", {.move = true}},
    {"Found", {.print = true, .chunk = true, .values = 1, .answers = true}},
    {"Inserted", {.chunk = true}},
    {"Removed", {.chunk = true}},
    {"Advised", {.chunk = true, .values = 1}},
    {"GivenUp", {.chunk = true, .values = 1}},
    {"Owned", {.chunk = true}},
    {"Know", {.values = 3}},
    {"KnowArgument", {.values = 3}},
}};
static_assert(kRows.back().name != nullptr);

}  // namespace

EventFields FieldsOf(SchedulerEvent::Kind kind) { return kRows[static_cast<size_t>(kind)].fields; }
const char* EventName(SchedulerEvent::Kind kind) { return kRows[static_cast<size_t>(kind)].name; }

}  // namespace vramspan
