#include "tools/replay/trace_events.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/clean_text.h"

namespace vramspan::replay {
namespace {

// The recorder gives no stream a number beyond it.
constexpr uint32_t kMostStreams = 1 << 16;

}  // namespace

Status TracedEvents::TooMuch(uint32_t block, uint64_t most, std::string_view of) const {
  return absl::ResourceExhaustedError(absl::StrCat("at byte ", blocks[block], ": more than ", most,
                                                   " ", of,
                                                   ", more than is read of a file of this size"));
}

Status TraceEvents::Take(size_t offset, uint32_t thread, const trace::Event& event) {
  thread_ = thread;
  if (events_.blocks.empty() || events_.blocks.back() != offset) events_.blocks.push_back(offset);
  block_ = static_cast<uint32_t>(events_.blocks.size() - 1);
  if (++taken_ > limits_.events) return events_.TooMuch(block_, limits_.events, "events");
  std::visit([this](const auto& e) { Take(e); }, event);
  if (open_.told() > limits_.told) {
    return events_.TooMuch(block_, limits_.told, "ranges told of work");
  }
  if (events_.sets.ranges() + open_.pending() > limits_.ranges) {
    return events_.TooMuch(block_, limits_.ranges, "ranges of different work");
  }
  return absl::OkStatus();
}

TracedEvents TraceEvents::Finish() {
  CloseWork();
  return std::move(events_);
}

void TraceEvents::Take(const trace::AllocateEvent& e) {
  if (problems_.Late(e.time)) return;
  events_.calls.push_back({.time = e.time,
                           .kind = TracedCall::Kind::kAllocate,
                           .block = block_,
                           .base = e.base,
                           .size = e.size});
}

void TraceEvents::Take(const trace::FreeEvent& e) {
  if (problems_.Late(e.time)) return;
  events_.calls.push_back(
      {.time = e.time, .kind = TracedCall::Kind::kFree, .block = block_, .base = e.base});
}

void TraceEvents::Take(const trace::CodeEvent& e) {
  RecordedCode& code = events_.codes[CodeIndex(e.code)];
  if (!e.name.empty()) code.name = CleanText(e.name);
  code.shape = e.shape;
}

void TraceEvents::Take(const trace::AlikeEvent& e) {
  const uint32_t first = CodeIndex(e.first);
  events_.codes[CodeIndex(e.code)].alike = first;
}

void TraceEvents::Take(const trace::WorkEvent& e) {
  if (open_.Continues(e, events_.sets)) return;
  CloseWork();
  const bool known = open_.Known(e, block_);
  if (problems_.Late(e.time)) return;
  const auto work = static_cast<uint32_t>(events_.works.size());
  if (!events_.ids.emplace(e.id, work).second) {
    problems_.Note(absl::StrCat("work ", e.id, " is told twice; the second is left out"));
    return;
  }
  open_.Open(e, block_, known);
  events_.calls.push_back({.time = e.time, .block = block_, .index = work});
  events_.works.push_back({.submitted = e.time,
                           .stream = StreamIndex(e.stream),
                           .code = CodeIndex(e.code),
                           .kind = static_cast<WorkKind>(e.kind),
                           .complete = e.complete,
                           .trust = e.trust});
  uncosted_[thread_].push_back(work);
}

void TraceEvents::CloseWork() {
  if (const std::optional<uint32_t> set = open_.Close(&events_.sets)) {
    events_.works.back().set = *set;
  }
}

void TraceEvents::Take(const trace::TimesEvent& e) {
  if (!problems_.Late(e.start) && !problems_.Late(e.duration)) events_.times.push_back(e);
}

void TraceEvents::Take(const trace::MoveEvent& e) {
  if (problems_.Late(e.time)) return;
  if (e.size > ChunkBytes(kMaxChunkLog2)) {
    problems_.Note(
        absl::StrFormat("a move of %d bytes at 0x%x is left out, because no chunk is as large",
                        e.size.value, e.base.value));
    return;
  }
  // Its memory may be freed before it ends, and is told of only after it may begin.
  for (const uint64_t time : {e.time - std::min(e.time, e.duration), e.time}) {
    events_.calls.push_back({.time = time,
                             .kind = TracedCall::Kind::kMove,
                             .block = block_,
                             .index = static_cast<uint32_t>(events_.moves.size())});
  }
  events_.moves.push_back(e);
}

void TraceEvents::Take(const trace::WaitEvent& e) {
  if (problems_.Late(e.time) || e.duration > e.time) return;
  const bool stream = e.what == trace::WaitEvent::For::kStream;
  events_.waits.push_back({.time = e.time,
                           .duration = e.duration,
                           .what = static_cast<RecordedWait::For>(e.what),
                           .stream = stream ? StreamIndex(e.stream) : 0});
}

void TraceEvents::Take(const trace::CostEvent& e) {
  if (problems_.Late(e.nanoseconds) || e.works == 0) return;
  std::vector<uint32_t>& works = uncosted_[thread_];
  // Some of them may be lost.
  const size_t known = std::min<uint64_t>(works.size(), e.works);
  for (size_t i = works.size() - known; i < works.size(); ++i) {
    events_.works[works[i]].cost = e.nanoseconds / e.works;
  }
  works.clear();
}

void TraceEvents::Take(const trace::DiscardEvent& e) {
  if (problems_.Late(e.time) || e.size == Bytes(0)) return;
  events_.calls.push_back(
      {.time = e.time,
       .kind = TracedCall::Kind::kDiscard,
       .block = block_,
       .base = e.base,
       .size = e.size,
       .discard = e.unowned ? RecordedDiscard::Kind::kUnowned : RecordedDiscard::Kind::kContents});
}

void TraceEvents::Take(const trace::OwnEvent& e) {
  if (problems_.Late(e.time)) return;
  events_.calls.push_back({.time = e.time,
                           .kind = TracedCall::Kind::kDiscard,
                           .block = block_,
                           .base = e.base,
                           .size = e.size,
                           .discard = RecordedDiscard::Kind::kOwned});
}

uint32_t TraceEvents::CodeIndex(uint32_t code) {
  const auto [it, added] = codes_.emplace(code, static_cast<uint32_t>(events_.codes.size()));
  if (added) events_.codes.push_back({absl::StrCat("code ", code), 0});
  return it->second;
}

uint32_t TraceEvents::StreamIndex(uint32_t stream) {
  if (stream < kMostStreams) return stream;
  const auto next = static_cast<uint32_t>(kMostStreams + large_streams_.size());
  return large_streams_.emplace(stream, next).first->second;
}

}  // namespace vramspan::replay
