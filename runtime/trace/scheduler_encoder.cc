#include "runtime/trace/scheduler_encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/log.h"
#include "runtime/base/mix.h"
#include "runtime/trace/varint.h"

namespace vramspan::trace {
namespace {

using Type = SchedulerRecordType;
using EventKind = SchedulerEvent::Kind;

uint64_t NumberOf(Instant t) { return static_cast<uint64_t>(t.time_since_epoch().count()); }
uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

// What a sink knows work by: all that others say of it before it is submitted.
uint64_t MarkOf([[maybe_unused]] const Work& work) {
#ifdef VRAMSPAN_DCHECK
  uint64_t mark = Mix(work.id, static_cast<uint64_t>(work.kind));
  mark = Mix(mark, Mix(static_cast<uint64_t>(work.access), work.kernel));
  mark = Mix(mark, Mix(work.signature, work.submitter.thread));
  work.ForEach([&](const ChunkUse& use) { mark = Mix(mark, use.chunk.value); });
  return mark | 1;
#else
  return 1;
#endif
}

uint64_t UseBits(const Use& use) {
  return static_cast<uint64_t>(use.write) | static_cast<uint64_t>(use.kernels_only) << 1 |
         static_cast<uint64_t>(use.once) << 2 | static_cast<uint64_t>(use.possible) << 3 |
         static_cast<uint64_t>(use.mapped_only) << 4 | static_cast<uint64_t>(use.guessed) << 5 |
         static_cast<uint64_t>(use.slot) << 6 | static_cast<uint64_t>(use.part.code()) << 22 |
         static_cast<uint64_t>(use.waited) << 30 | static_cast<uint64_t>(use.told) << 31;
}

}  // namespace

// One record, of at most so many numbers and as many bytes besides.
class RecordWriter {
 public:
  RecordWriter(BlockBytes* bytes, uint8_t type, size_t numbers, size_t besides = 0)
      : bytes_(*bytes), at_(bytes->Room(1 + numbers * kMostVarint + besides)) {
    *at_++ = type;
  }
  RecordWriter(BlockBytes* bytes, Type type, size_t numbers, size_t besides = 0)
      : RecordWriter(bytes, static_cast<uint8_t>(type), numbers, besides) {}
  ~RecordWriter() { bytes_.EndAt(at_); }
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void Put(uint64_t value) { at_ = PutVarint(at_, value); }
  // As the difference to the last of its kind.
  void Put(uint64_t* last, uint64_t value) {
    Put(Fold(*last, value));
    *last = value;
  }
  void PutText(std::string_view text) {
    Put(text.size());
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

 private:
  BlockBytes& bytes_;
  uint8_t* at_;
};

ChunkFacts ChunkFacts::Of(const Chunk& c) {
  const bool there[] = {c.on_device, c.movable,         c.read_mostly,
                        c.dying,     c.tracked,         c.unmapped,
                        c.lost,      c.allocation != 0, c.device_slot != kNoSlot};
  ChunkFacts facts;
  facts.mapped_only = c.mapped_only;
  facts.bits = static_cast<uint32_t>(c.state) | static_cast<uint32_t>(c.log2_size) << 3 |
               static_cast<uint32_t>(c.advice) << 8;
  for (size_t i = 0; i < std::size(there); ++i) facts.bits |= uint32_t{there[i]} << (10 + i);
  return facts;
}

AnswerRecord AnswerRecord::Of(const EventAnswer& answer) {
  AnswerRecord record{.value = answer.value, .kind = answer.action.kind};
  if (const Work* const work = answer.action.work) {
    record.work = work->id;
    record.flags = static_cast<uint8_t>(work->run_in_place);
  }
  record.chunk = answer.action.chunk;
  if (const ChunkMove* const move = answer.action.move) {
    record.chunk = move->chunk;
    record.place = move->place;
    record.flags = static_cast<uint8_t>(
        move->in | move->clean << 1 | move->explicit_request << 2 | move->ahead << 3 |
        move->print << 4 | move->expected.has_value() << 5 | move->content.has_value() << 6);
  }
  return record;
}

void SchedulerEncoder::Made(ChunkTable* chunks, const SchedulerOptions& options,
                            std::string_view policy) {
  chunks_ = chunks;
  chunks->told();
  {
    RecordWriter out(&bytes_, Type::kMade, 8, policy.size());
    out.Put(static_cast<uint64_t>(options.deadline.count()));
    out.Put(static_cast<uint64_t>(options.traced | options.idle_fetches << 1 |
                                  options.always_prints << 2));
    out.Put(options.device_memory.value);
    out.Put(Bits(options.prices.serve_gb_per_s));
    out.Put(Bits(options.prices.move_gb_per_s));
    out.Put(Bits(options.prices.device_gb_per_s));
    out.PutText(policy);
  }
  for (uint32_t i = 1; i < chunks->end(); ++i) PutChunk(ChunkIndex(i), /*removed=*/false);
  CheckNothingUntold();
}

void SchedulerEncoder::PutChunk(ChunkIndex chunk, bool removed) {
  const ChunkFacts facts = ChunkFacts::Of((*chunks_)[chunk]);
  RecordWriter out(&bytes_, Type::kChunk, 3);
  out.Put(&last_.chunk, chunk.value);
  out.Put(static_cast<uint64_t>(facts.bits) << 1 | static_cast<uint64_t>(removed));
  out.Put(facts.mapped_only);
#ifdef VRAMSPAN_DCHECK
  if (seen_.size() <= chunk.value) seen_.resize(chunk.value + size_t{1});
  seen_[chunk.value] = facts;
#endif
}

void SchedulerEncoder::PutChunks() {
  ChunkTable::Told& told = chunks_->told();
  if (told.changed.empty()) [[likely]]
    return;
  removed_.clear();
  told.removed.Drain([&](ChunkIndex chunk) { removed_.push_back(chunk); });
  told.changed.Drain([&](ChunkIndex chunk) {
    PutChunk(chunk, std::binary_search(removed_.begin(), removed_.end(), chunk));
  });
}

void SchedulerEncoder::CheckNothingUntold() {
#ifdef VRAMSPAN_DCHECK
  seen_.resize(chunks_->end());
  for (uint32_t i = 1; i < chunks_->end(); ++i) {
    VS_DCHECK(seen_[i] == ChunkFacts::Of((*chunks_)[ChunkIndex(i)]));
  }
#endif
}

void SchedulerEncoder::PutWork(const Work& work) {
  const uint64_t mark = MarkOf(work);
  VS_DCHECK(work.told == 0 || work.told == mark);
  if (work.told != 0) [[likely]]
    return;
  work.told = mark;
  const size_t uses = work.uses.size() + work.possible.size() + work.mapped_only.size();
  const auto& in_place = work.wanted.in_place;
  RecordWriter out(&bytes_, Type::kWork, 13 + 2 * uses, in_place.size());
  out.Put(&last_.work, work.id);
  out.Put(static_cast<uint64_t>(work.kind) | static_cast<uint64_t>(work.access) << 3 |
          static_cast<uint64_t>(work.needs_arrival) << 5 |
          static_cast<uint64_t>(work.submitted) << 6);
  out.Put(work.kernel);
  out.Put(work.signature);
  out.Put(work.submitter.thread);
  out.Put(std::bit_cast<uint64_t>(work.submitter.stream_key));
  out.Put(Fold(last_.time, NumberOf(work.submitted_at)));
  out.Put(work.uses.size());
  out.Put(work.possible.size());
  out.Put(work.mapped_only.size());
  work.ForEach([&](const ChunkUse& use) {
    out.Put(&last_.chunk, use.chunk.value);
    out.Put(UseBits(use.how));
  });
  out.PutText({reinterpret_cast<const char*>(in_place.data()), in_place.size()});
}

void SchedulerEncoder::PutMoment(const Moment& at, RecordWriter* out) {
  const bool same = at.budget.value == last_.budget && at.used.value == last_.used &&
                    at.available.value == last_.available;
  out->Put(static_cast<uint64_t>(at.host_has_room | at.draining << 1 | at.follows_writers << 2 |
                                 same << 3));
  out->Put(&last_.time, NumberOf(at.now));
  if (same) return;
  out->Put(&last_.budget, at.budget.value);
  out->Put(&last_.used, at.used.value);
  out->Put(&last_.available, at.available.value);
}

void SchedulerEncoder::Begin(const SchedulerEvent& event) {
  // A policy is told in the middle of a change.
  if (!IsToldToPolicy(event.kind)) {
    PutChunks();
    CheckNothingUntold();
  }
  if (event.work != nullptr) PutWork(*event.work);
  ++events_;
  const EventFields has = FieldsOf(event.kind);
  RecordWriter out(&bytes_, static_cast<uint8_t>(event.kind), 15);
  if (has.work) out.Put(&last_.work, event.work->id);
  if (has.move) out.Put(event.move->place);
  if (has.chunk) out.Put(&last_.chunk, event.chunk.value);
  if (has.now) out.Put(&last_.time, NumberOf(event.now));
  if (has.moment) PutMoment(*event.at, &out);
  if (has.other) out.Put(Fold(last_.time, NumberOf(event.other)));
  if (has.values > 0) out.Put(event.value);
  if (has.values > 1) out.Put(event.second);
  if (has.values > 2) out.Put(event.third);
  if (!has.print) return;
  out.Put(static_cast<uint64_t>(event.print != nullptr));
  if (event.print == nullptr) return;
  out.Put(event.print->a);
  out.Put(event.print->b);
}

void SchedulerEncoder::AskedWhatRuns() { RecordWriter(&bytes_, Type::kAsked, 0); }

void SchedulerEncoder::Runs(const Work& work) {
  RecordWriter out(&bytes_, Type::kRuns, 2);
  out.Put(&last_.work, work.id);
  out.Put(static_cast<uint64_t>(work.submitted));
}

void SchedulerEncoder::Dropped(ChunkIndex chunk) {
  RecordWriter out(&bytes_, Type::kDropped, 1);
  out.Put(&last_.chunk, chunk.value);
}

void SchedulerEncoder::End(const SchedulerEvent& event, const EventAnswer& answer) {
#ifdef VRAMSPAN_DCHECK
  // What the scheduler changes follows from what it is told.
  if (!IsToldToPolicy(event.kind)) {
    seen_.resize(chunks_->end());
    for (uint32_t i = 1; i < chunks_->end(); ++i) {
      seen_[i] = ChunkFacts::Of((*chunks_)[ChunkIndex(i)]);
    }
  }
#endif
  if (!FieldsOf(event.kind).answers) return;
  const AnswerRecord record = AnswerRecord::Of(answer);
  RecordWriter out(&bytes_, Type::kAnswer, 5);
  out.Put(event.kind == EventKind::kDue ? Fold(last_.time, record.value) : record.value);
  if (event.kind != EventKind::kNext) return;
  out.Put(static_cast<uint64_t>(record.kind));
  if (record.kind == Action::Kind::kNothing) return;
  out.Put(static_cast<uint64_t>(record.flags));
  if (record.kind == Action::Kind::kRelease) return out.Put(&last_.work, record.work);
  out.Put(&last_.chunk, record.chunk.value);
  out.Put(record.place);
}

void SchedulerEncoder::Finish() { RecordWriter(&bytes_, Type::kEnd, 1).Put(events_); }

BlockBytes SchedulerEncoder::Take(uint32_t* events) {
  *events = static_cast<uint32_t>(events_ - taken_);
  taken_ = events_;
  return std::exchange(bytes_, {});
}

}  // namespace vramspan::trace
