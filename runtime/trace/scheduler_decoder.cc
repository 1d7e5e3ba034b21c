#include "runtime/trace/scheduler_decoder.h"

#include <absl/strings/str_cat.h>

#include <bit>
#include <cmath>
#include <utility>

#include "runtime/trace/varint.h"

namespace vramspan::trace {
namespace {

using Type = SchedulerRecordType;
using EventKind = SchedulerEvent::Kind;

constexpr size_t kMostPolicyName = 64;
constexpr uint64_t kMostWorkFlags = 1 << 7;
constexpr uint64_t kMostBytes = uint64_t{1} << 50;
// Times that can be added to one another.
constexpr int64_t kLatest = int64_t{1} << 60;

bool IsPrice(double value) { return std::isfinite(value) && value > 1e-3 && value < 1e9; }

}  // namespace

// Numbers as the encoder put them.
class SchedulerDecoder::Fields {
 public:
  Fields(const uint8_t* at, const uint8_t* end) : in_(at, end) {}

  bool ok() const { return ok_ && in_.ok(); }
  const uint8_t* at() const { return in_.at(); }
  size_t left() const { return in_.left(); }
  uint64_t Take() { return in_.Take(); }
  uint64_t Take(uint64_t below) {
    const uint64_t value = in_.Take();
    ok_ = ok_ && value < below;
    return ok_ ? value : 0;
  }
  uint64_t TakeChange(uint64_t* last) { return *last = Unfold(*last, in_.Take()); }
  ChunkIndex TakeChunk(uint64_t* last) {
    const uint64_t value = TakeChange(last);
    ok_ = ok_ && value <= UINT32_MAX;
    return ChunkIndex(static_cast<uint32_t>(value));
  }
  Instant TakeTime(uint64_t last) { return Time(Unfold(last, in_.Take())); }
  Instant TakeTimeChange(uint64_t* last) { return Time(TakeChange(last)); }
  Instant TakeTimeOrNever(uint64_t last) {
    const uint64_t value = Unfold(last, in_.Take());
    return value == INT64_MAX ? Instant::max() : Time(value);
  }
  bool TakeText(size_t most, std::string* text) {
    const uint64_t size = in_.Take();
    if (!ok() || size > most || size > in_.left()) return ok_ = false;
    text->assign(reinterpret_cast<const char*>(in_.at()), size);
    in_.Skip(size);
    return true;
  }

 private:
  Instant Time(uint64_t value) {
    const auto count = static_cast<int64_t>(value);
    ok_ = ok_ && count >= 0 && count < kLatest;
    return Instant(Duration(ok_ ? count : 0));
  }

  VarintReader in_;
  bool ok_ = true;
};

bool ChunkFacts::unmapped() const { return (bits >> 15 & 1) != 0; }

void ChunkFacts::Put(Chunk* c) const {
  const auto bit = [this](int i) { return (bits >> (10 + i) & 1) != 0; };
  c->state = static_cast<ChunkState>(bits & 7);
  c->log2_size = bits >> 3 & 31;
  c->advice = static_cast<Advice>(bits >> 8 & 3);
  c->on_device = bit(0);
  c->movable = bit(1);
  c->read_mostly = bit(2);
  c->dying = bit(3);
  c->tracked = bit(4);
  c->lost = bit(6);
  c->allocation = bit(7);
  c->device_slot = bit(8) ? 0 : kNoSlot;
  c->mapped_only = mapped_only;
  // Whoever else holds its memory may fill it unseen.
  if (c->state == ChunkState::kPinned) c->contents = Contents::kSome;
}

Status SchedulerDecoder::Bad(size_t at, const char* what) const {
  return absl::DataLossError(absl::StrCat(what, " at byte ", at, " of the block"));
}

bool SchedulerDecoder::TakeMade(Fields* in, MadeRecord* record) {
  SchedulerOptions& o = record->options;
  o.deadline = Duration(static_cast<int64_t>(in->Take(uint64_t{1} << 40)));
  const uint64_t flags = in->Take(8);
  o.traced = (flags & 1) != 0;
  o.idle_fetches = (flags & 2) != 0;
  o.always_prints = (flags & 4) != 0;
  o.device_memory = Bytes(in->Take(kMostBytes));
  for (double* price :
       {&o.prices.serve_gb_per_s, &o.prices.move_gb_per_s, &o.prices.device_gb_per_s}) {
    *price = std::bit_cast<double>(in->Take());
    if (!IsPrice(*price)) return false;
  }
  return in->TakeText(kMostPolicyName, &record->policy) && o.deadline > Duration(0) && in->ok();
}

bool SchedulerDecoder::TakeWork(Fields* in, WorkRecord* record) {
  Work& work = record->work;
  work.id = in->TakeChange(&last_.work);
  const uint64_t flags = in->Take(kMostWorkFlags);
  if ((flags & 7) > static_cast<uint64_t>(Work::Kind::kCaptured)) return false;
  work.kind = static_cast<Work::Kind>(flags & 7);
  work.access = static_cast<Access>(flags >> 3 & 3);
  work.needs_arrival = (flags & 1 << 5) != 0;
  work.submitted = (flags & 1 << 6) != 0;
  work.kernel = in->Take();
  work.signature = in->Take();
  work.submitter.thread = in->Take();
  work.submitter.stream_key = std::bit_cast<const void*>(in->Take());
  work.submitted_at = in->TakeTime(last_.time);
  // Two bytes at least are each.
  const uint64_t most = in->left() / 2 + 1;
  const uint64_t likely = in->Take(most), possible = in->Take(most), rest = in->Take(most);
  if (!in->ok() || likely + possible + rest > in->left() / 2) return false;
  record->likely = static_cast<uint32_t>(likely);
  record->possible = static_cast<uint32_t>(possible);
  record->all.resize(likely + possible + rest);
  for (ChunkUse& use : record->all) {
    use.chunk = in->TakeChunk(&last_.chunk);
    const uint64_t bits = in->Take(uint64_t{1} << 32);
    use.how = {.slot = static_cast<uint16_t>(bits >> 6),
               .write = (bits & 1) != 0,
               .kernels_only = (bits & 2) != 0,
               .once = (bits & 4) != 0,
               .possible = (bits & 8) != 0,
               .mapped_only = (bits & 16) != 0,
               .guessed = (bits & 32) != 0,
               .waited = (bits >> 30 & 1) != 0,
               .told = (bits >> 31 & 1) != 0,
               .part = NamedPart::FromCode(static_cast<uint8_t>(bits >> 22))};
  }
  std::string in_place;
  if (!in->TakeText(likely, &in_place) || !in->ok()) return false;
  if (!in_place.empty() && in_place.size() != likely) return false;
  work.wanted.in_place.assign(in_place.begin(), in_place.end());
  return true;
}

bool SchedulerDecoder::TakeEvent(EventKind kind, Fields* in, EventRecord* record) {
  kind_ = record->kind = kind;
  const EventFields has = FieldsOf(kind);
  if (has.work) record->work = in->TakeChange(&last_.work);
  if (has.move) record->move = static_cast<uint32_t>(in->Take(uint64_t{1} << 32));
  if (has.chunk) record->chunk = in->TakeChunk(&last_.chunk);
  if (has.now) record->now = in->TakeTimeChange(&last_.time);
  if (has.moment) {
    const uint64_t flags = in->Take(16);
    Moment& at = record->at;
    at.host_has_room = (flags & 1) != 0;
    at.draining = (flags & 2) != 0;
    at.follows_writers = (flags & 4) != 0;
    at.now = in->TakeTimeChange(&last_.time);
    const bool same = (flags & 8) != 0;
    for (auto [of, last] : {std::pair{&at.budget, &last_.budget},
                            {&at.used, &last_.used},
                            {&at.available, &last_.available}}) {
      *of = Bytes(same ? *last : in->TakeChange(last));
      if (of->value > kMostBytes) return false;
    }
  }
  if (has.other) record->other = in->TakeTimeOrNever(last_.time);
  if (has.values > 0) record->value = in->Take();
  if (has.values > 1) record->second = in->Take();
  if (has.values > 2) record->third = in->Take();
  if (has.print && in->Take(2) != 0) {
    const uint64_t a = in->Take();
    record->print = Fingerprint{a, in->Take()};
  }
  return in->ok();
}

bool SchedulerDecoder::TakeAnswer(Fields* in, AnswerRecord* record) {
  record->value = in->Take();
  if (kind_ == EventKind::kDue) record->value = Unfold(last_.time, record->value);
  if (kind_ != EventKind::kNext) return in->ok();
  record->kind =
      static_cast<Action::Kind>(in->Take(static_cast<uint64_t>(Action::Kind::kMapOnHost) + 1));
  if (record->kind == Action::Kind::kNothing) return in->ok();
  record->flags = static_cast<uint8_t>(in->Take(1 << 7));
  if (record->kind == Action::Kind::kRelease) {
    record->work = in->TakeChange(&last_.work);
    return in->ok();
  }
  record->chunk = in->TakeChunk(&last_.chunk);
  record->place = static_cast<uint32_t>(in->Take(uint64_t{1} << 32));
  return in->ok();
}

bool SchedulerDecoder::Take(uint8_t type, Fields* in, SchedulerRecord* record) {
  if (type < static_cast<uint8_t>(EventKind::kCount)) {
    return TakeEvent(static_cast<EventKind>(type), in, &record->emplace<EventRecord>());
  }
  switch (static_cast<Type>(type)) {
    case Type::kMade:
      return TakeMade(in, &record->emplace<MadeRecord>());
    case Type::kChunk: {
      auto& chunk = record->emplace<ChunkRecord>();
      chunk.chunk = in->TakeChunk(&last_.chunk);
      const uint64_t bits = in->Take(uint64_t{1} << 20);
      chunk.removed = (bits & 1) != 0;
      chunk.facts.bits = static_cast<uint32_t>(bits >> 1);
      chunk.facts.mapped_only = static_cast<uint16_t>(in->Take(1 << 16));
      return in->ok();
    }
    case Type::kWork:
      return TakeWork(in, &record->emplace<WorkRecord>());
    case Type::kAsked:
      record->emplace<AskedRecord>();
      return true;
    case Type::kRuns: {
      auto& runs = record->emplace<RunsRecord>();
      runs.work = in->TakeChange(&last_.work);
      runs.submitted = in->Take(2) != 0;
      return in->ok();
    }
    case Type::kDropped:
      record->emplace<DroppedRecord>().chunk = in->TakeChunk(&last_.chunk);
      return in->ok();
    case Type::kAnswer:
      return TakeAnswer(in, &record->emplace<AnswerRecord>());
    case Type::kEnd:
      record->emplace<EndRecord>().events = in->Take();
      return in->ok();
  }
  return false;
}

StatusOr<bool> SchedulerDecoder::Next(SchedulerRecord* record) {
  if (at_ == bytes_.size()) return false;
  Fields in(bytes_.data() + at_ + 1, bytes_.data() + bytes_.size());
  if (!Take(bytes_[at_], &in, record) || !in.ok()) {
    const Status bad = Bad(at_, "a record that is none");
    at_ = bytes_.size();
    return bad;
  }
  at_ = static_cast<size_t>(in.at() - bytes_.data());
  return true;
}

}  // namespace vramspan::trace
