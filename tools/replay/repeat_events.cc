// The records of a file of events: what they say of chunks and work, and whether an event comes to
// what was recorded of it.
#include "tools/replay/repeat_events.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"

namespace vramspan::replay {
namespace {

using trace::AnswerRecord;
using trace::EventRecord;

// More than any device has, and than a run may have at once.
constexpr uint32_t kMostChunks = 1 << 20;
constexpr size_t kMostKnownWorks = 40'000;
constexpr uint32_t kMostKept = 1 << 14;

const char* const kActionNames[] = {"nothing", "release", "evict",   "fetch",  "remap",
                                    "mend",    "unmap",   "give up", "detach", "map on host"};
const char* const kMoveFlags[] = {
    "in", "clean", "by request", "ahead", "print", "with a twin's print", "with its print"};

std::string TextOf(SchedulerEvent::Kind kind, const AnswerRecord& answer) {
  if (kind == SchedulerEvent::Kind::kDue) {
    return answer.value == static_cast<uint64_t>(INT64_MAX)
               ? "never"
               : absl::StrFormat("at %.6f ms", static_cast<double>(answer.value) / 1e6);
  }
  if (kind != SchedulerEvent::Kind::kNext) return absl::StrCat(answer.value);
  std::string text = kActionNames[static_cast<size_t>(answer.kind)];
  if (answer.kind == Action::Kind::kNothing) return text;
  if (answer.kind == Action::Kind::kRelease) {
    return absl::StrCat(text, " work ", answer.work, answer.flags != 0 ? " in place" : "");
  }
  absl::StrAppend(&text, " chunk ", answer.chunk.value);
  if (answer.kind == Action::Kind::kMapOnHost) return text;
  absl::StrAppend(&text, ", place ", answer.place);
  for (size_t i = 0; i < std::size(kMoveFlags); ++i) {
    if ((answer.flags >> i & 1) != 0) absl::StrAppend(&text, ", ", kMoveFlags[i]);
  }
  return text;
}

std::string TextOf(const std::vector<ChunkIndex>& chunks) {
  if (chunks.empty()) return "no host copy is dropped";
  return absl::StrCat("the host copies of these are dropped: ",
                      absl::StrJoin(chunks, ", ", [](std::string* out, ChunkIndex c) {
                        absl::StrAppend(out, c.value);
                      }));
}

}  // namespace

bool EventRepeater::Damaged(std::string_view why) {
  over_ = true;
  result_.damage = absl::StrCat("event ", result_.events, ": ", why);
  return false;
}

bool EventRepeater::Differs(std::string recorded, std::string now) {
  over_ = true;
  result_.difference = {.event = result_.events,
                        .name = EventName(pending_->event.kind),
                        .at = first_time_ ? time_ - *first_time_ : Duration(0),
                        .recorded = std::move(recorded),
                        .now = std::move(now)};
  return false;
}

bool EventRepeater::Take(absl::Span<const uint8_t> bytes) {
  decoder_.Feed(bytes);
  trace::SchedulerRecord record;
  while (!over_) {
    const StatusOr<bool> more = decoder_.Next(&record);
    if (!more.ok()) return Damaged(more.status().message());
    if (!*more) return true;
    TakeRecord(record);
  }
  return false;
}

bool EventRepeater::TakeRecord(const trace::SchedulerRecord& record) {
  if (const auto* made = std::get_if<trace::MadeRecord>(&record)) return Construct(*made);
  if (!scheduler_) return Damaged("there is no scheduler yet");
  if (std::holds_alternative<trace::AskedRecord>(record)) {
    if (!pending_) return Damaged("nothing asks what runs");
    pending_->asked.push_back(pending_->runs.size());
    return true;
  }
  if (const auto* runs = std::get_if<trace::RunsRecord>(&record)) {
    if (!pending_ || pending_->asked.empty()) return Damaged("nothing asks what runs");
    pending_->runs.push_back(*runs);
    return true;
  }
  if (const auto* dropped = std::get_if<trace::DroppedRecord>(&record)) {
    if (!pending_) return Damaged("nothing drops a host copy");
    pending_->dropped.push_back(dropped->chunk);
    return true;
  }
  if (const auto* answer = std::get_if<AnswerRecord>(&record)) {
    if (!pending_ || pending_->answer) return Damaged("an answer, and nothing was asked");
    pending_->answer = *answer;
    return true;
  }
  if (!TellPending()) return false;
  if (const auto* chunk = std::get_if<trace::ChunkRecord>(&record)) return TakeChunk(*chunk);
  if (const auto* work = std::get_if<trace::WorkRecord>(&record)) return TakeWork(*work);
  if (const auto* event = std::get_if<EventRecord>(&record)) {
    pending_ = Pending{.event = *event, .asked = {}, .runs = {}, .dropped = {}, .answer = {}};
    return true;
  }
  result_.whole = std::get<trace::EndRecord>(record).events == result_.events;
  if (!result_.whole) return Damaged("the end counts other events than there were");
  return true;
}

bool EventRepeater::Construct(const trace::MadeRecord& made) {
  if (scheduler_) return Damaged("a second scheduler");
  StatusOr<std::unique_ptr<EvictionPolicy>> policy = MakePolicy(made.policy);
  if (!policy.ok()) return Damaged(policy.status().message());
  StatusOr<std::unique_ptr<ChunkTable>> chunks = ChunkTable::Create(kMostChunks);
  if (!chunks.ok()) return Damaged(chunks.status().message());
  policy_ = *std::move(policy);
  chunks_ = *std::move(chunks);
  scheduler_.emplace(chunks_.get(), policy_.get(), made.options,
                     static_cast<SchedulerOwner*>(this));
  result_.policy = made.policy;
  return true;
}

bool EventRepeater::TakeChunk(const trace::ChunkRecord& record) {
  if (ready_ != nullptr) return Damaged("a chunk changes before work is released that may go");
  // They are given out one by one.
  if (!record.chunk || record.chunk.value > std::min(chunks_->end(), kMostChunks)) {
    return Damaged("a chunk that was never there");
  }
  while (chunks_->end() <= record.chunk.value) {
    if (!chunks_->Add().ok()) return Damaged("more chunks than there can be");
  }
  kept_mapped_.resize(chunks_->end());
  Chunk& c = (*chunks_)[record.chunk];
  uint16_t& kept = kept_mapped_[record.chunk.value];
  const bool moving = c.state == ChunkState::kMoving;
  const bool used = c.in_flight + c.queued + c.in_submission + c.mapped_only != kept || moving;
  Chunk next = record.removed ? Chunk() : c;
  record.facts.Put(&next);
  const bool gone = record.removed || next.state == ChunkState::kNone;
  const bool comes = gone || c.state == ChunkState::kNone;
  if (comes && used) return Damaged("a chunk comes or goes that is in use");
  if (moving != (next.state == ChunkState::kMoving) || (moving && next.on_device != c.on_device)) {
    return Damaged("a chunk moves, and nothing began that");
  }
  if (next.state != ChunkState::kNone &&
      (next.log2_size < kMinChunkLog2 || next.log2_size > kMaxChunkLog2 ||
       (!comes && next.log2_size != c.log2_size) || !StateFitsMemory(next.state, next.on_device))) {
    return Damaged("a chunk that cannot be");
  }
  const bool unmapped = record.facts.unmapped();
  if (unmapped && !(c.unmapped && !comes) && (used || next.state != ChunkState::kHost)) {
    return Damaged("a chunk loses its mapping while it is in use");
  }
  const int by_work = c.mapped_only - kept;
  const int by_others = next.mapped_only - by_work;
  if (by_others < 0 || by_others > static_cast<int>(kMostKept)) {
    return Damaged("a chunk is kept mapped by fewer than its work");
  }
  kept = static_cast<uint16_t>(by_others);
  if (gone) chunks_->SetUnmapped(record.chunk, false);
  const bool was_unmapped = c.unmapped;
  c = next;
  c.unmapped = was_unmapped;
  chunks_->SetUnmapped(record.chunk, unmapped);
  if (record.removed) chunks_->removed().Add(record.chunk);
  chunks_->NoteChange(record.chunk);
  return true;
}

bool EventRepeater::TakeWork(const trace::WorkRecord& record) {
  const Work& said = record.work;
  if (known_.contains(said.id)) return Damaged("work is told of twice");
  if (known_.size() >= kMostKnownWorks) return Damaged("more work than there can be at once");
  if (!IsTime(said.submitted_at)) return Damaged("a time that cannot be");
  auto work = std::make_unique<KnownWork>();
  static_cast<Work&>(*work) = said;
  work->all = record.all;
  used_by_.resize(chunks_->end());
  ++works_;
  for (const ChunkUse& use : work->all) {
    if (!IsChunk(use.chunk) || std::exchange(used_by_[use.chunk.value], works_) == works_) {
      return Damaged("work uses a chunk twice, or one that is not there");
    }
  }
  const absl::Span<const ChunkUse> all = work->all;
  work->uses = all.first(record.likely);
  work->possible = all.subspan(record.likely, record.possible);
  work->mapped_only = all.subspan(record.likely + record.possible);
  known_[said.id] = std::move(work);
  return true;
}

void EventRepeater::DropHostCopy(ChunkIndex chunk) {
  dropped_.push_back(chunk);
  Chunk& c = (*chunks_)[chunk];
  if (c.state != ChunkState::kDeviceTwin && c.state != ChunkState::kDeviceStale) return;
  c.Transition(ChunkState::kDevice);
}

void EventRepeater::ForEachRunning(absl::FunctionRef<void(const Work&)> visit) {
  const size_t which = asked_++;
  const std::vector<size_t>& asked = pending_->asked;
  if (which >= asked.size()) return;
  const size_t end = which + 1 < asked.size() ? asked[which + 1] : pending_->runs.size();
  for (size_t i = asked[which]; i < end; ++i) {
    const auto found = known_.find(pending_->runs[i].work);
    if (found == known_.end()) continue;
    found->second->submitted = pending_->runs[i].submitted;
    visit(*found->second);
  }
}

bool EventRepeater::TellPending() {
  if (!pending_) return true;
  const EventRecord& e = pending_->event;
  const EventFields has = FieldsOf(e.kind);
  ++result_.events;
  const bool may = has.answers == pending_->answer.has_value() && (!has.now || IsTime(e.now)) &&
                   (!has.moment || IsTime(e.at.now));
  if (has.now) time_ = e.now;
  if (has.moment) time_ = e.at.now;
  dropped_.clear();
  asked_ = 0;
  EventAnswer came;
  if (!may || !Call(e, &came)) {
    return Damaged(absl::StrCat(EventName(e.kind), " makes no sense here"));
  }
  result_.most_held = std::max<uint64_t>(result_.most_held, scheduler_->queue().size());
  if (has.answers) {
    const AnswerRecord& recorded = *pending_->answer;
    const AnswerRecord now = AnswerRecord::Of(came);
    if (!(recorded == now)) return Differs(TextOf(e.kind, recorded), TextOf(e.kind, now));
    result_.actions += now.kind != Action::Kind::kNothing;
    if (e.kind == SchedulerEvent::Kind::kNext && !Acted(came.action)) {
      return Damaged("an action that cannot be");
    }
  }
  if (asked_ != pending_->asked.size()) {
    const auto text = [](size_t n) { return absl::StrCat("asks ", n, " times what runs"); };
    return Differs(text(pending_->asked.size()), text(asked_));
  }
  if (dropped_ != pending_->dropped) {
    return Differs(TextOf(pending_->dropped), TextOf(dropped_));
  }
  pending_.reset();
  return true;
}

}  // namespace vramspan::replay
