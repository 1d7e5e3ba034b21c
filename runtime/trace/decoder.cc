#include "runtime/trace/decoder.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "runtime/trace/format.h"
#include "runtime/trace/varint.h"

namespace vramspan::trace {
namespace {

template <typename E>
E& As(Event* event) {
  if (E* e = std::get_if<E>(event)) return *e;
  return event->emplace<E>();
}

// A time that is told as a difference to the last.
uint64_t Later(VarintReader* in, uint64_t* last) { return *last = Unfold(*last, in->Take()); }

void Read(VarintReader* in, BlockState* last, AllocateEvent* e) {
  e->time = Later(in, &last->time);
  e->base = DevicePtr(Later(in, &last->base));
  e->size = Bytes(in->Take());
}

void Read(VarintReader* in, BlockState* last, FreeEvent* e) {
  e->time = Later(in, &last->time);
  e->base = DevicePtr(Later(in, &last->base));
}

const char* Read(VarintReader* in, CodeEvent* e) {
  const uint64_t code = in->Take();
  e->shape = in->Take();
  if (code > UINT32_MAX) return "a code's number is too large";
  if (in->left() > kMostName) return "a name is too long";
  e->code = static_cast<uint32_t>(code);
  e->name.assign(reinterpret_cast<const char*>(in->at()), in->left());
  in->Skip(in->left());
  return nullptr;
}

const char* Read(VarintReader* in, BlockState* last, WorkEvent* e) {
  e->time = Later(in, &last->time);
  e->id = Later(in, &last->id);
  const uint64_t stream = in->Take();
  const uint64_t code = in->Take();
  const uint64_t flags = in->Take();
  if (stream > UINT32_MAX || code > UINT32_MAX) return "a stream's or code's number is too large";
  if ((flags >> 2 & 7) > static_cast<uint64_t>(WorkEvent::Kind::kForeign)) {
    return "the kind of work is unknown";
  }
  if (flags >> 5 > static_cast<uint64_t>(Trust::kProven)) return "how work is trusted is unknown";
  e->stream = static_cast<uint32_t>(stream);
  e->code = static_cast<uint32_t>(code);
  e->kind = static_cast<WorkEvent::Kind>(flags >> 2 & 7);
  e->trust = static_cast<Trust>(flags >> 5);
  e->complete = (flags & 2) == 0;
  std::vector<TracedRange>& before = last->ranges[e->code];
  e->ranges.clear();
  e->before = (flags & 1) != 0 ? &before : nullptr;
  if (e->before != nullptr) return nullptr;
  const uint64_t count = in->Take();
  // Each takes three bytes at least.
  if (count > kMostRanges || count > in->left() / 3)
    return "an event has more ranges than it has room for";
  e->ranges.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const TracedRange none;
    const TracedRange& like = i < before.size() ? before[i] : i > 0 ? e->ranges.back() : none;
    TracedRange r;
    const uint64_t range_flags = in->Take();
    if (range_flags >> 21 != 0) return "a range has unknown flags";
    r.write = (range_flags & 1) != 0;
    r.exact = (range_flags & 2) != 0;
    r.slot = static_cast<uint16_t>(range_flags >> 2);
    r.settled = (range_flags & 1 << 18) != 0;
    r.possible = (range_flags & 1 << 19) != 0;
    r.told = (range_flags & 1 << 20) != 0;
    r.ptr = DevicePtr(Unfold(like.ptr.value, in->Take()));
    r.size = Bytes(Unfold(like.size.value, in->Take()));
    e->ranges.push_back(r);
  }
  before = e->ranges;
  return nullptr;
}

void Read(VarintReader* in, BlockState* last, TimesEvent* e) {
  e->id = Later(in, &last->measured_id);
  e->start = Unfold(last->end, in->Take());
  e->duration = in->Take();
  e->remote = Bytes(in->Take());
  last->end = e->start + e->duration;
}

void Read(VarintReader* in, BlockState* last, MoveEvent* e) {
  e->time = Later(in, &last->time);
  e->base = DevicePtr(Later(in, &last->base));
  e->size = Bytes(in->Take());
  const uint64_t flags = in->Take();
  e->in = (flags & 1) != 0;
  e->clean = (flags & 2) != 0;
  e->duration = in->Take();
}

void Read(VarintReader* in, BlockState* last, CompareEvent* e) {
  e->base = DevicePtr(Later(in, &last->compared_base));
  e->size = Bytes(in->Take());
  e->same = (in->Take() & 1) != 0;
  e->last = Later(in, &last->compared_id);
  e->first = e->last - in->Take();
}

const char* Read(VarintReader* in, AlikeEvent* e) {
  const uint64_t code = in->Take(), first = in->Take();
  if (code > UINT32_MAX || first > UINT32_MAX) return "a code's number is too large";
  e->code = static_cast<uint32_t>(code);
  e->first = static_cast<uint32_t>(first);
  return nullptr;
}

void Read(VarintReader* in, BlockState* last, DiscardEvent* e) {
  e->time = Later(in, &last->discarded);
  e->base = DevicePtr(Later(in, &last->discarded_base));
  e->size = Bytes(in->Take());
  // Before version 4 that was not told, nor when it is owned again.
  e->unowned = in->left() == 0 || (in->Take() & 1) != 0;
}

void Read(VarintReader* in, BlockState* last, OwnEvent* e) {
  e->time = Later(in, &last->discarded);
  e->base = DevicePtr(Later(in, &last->discarded_base));
  e->size = Bytes(in->Take());
}

const char* Read(VarintReader* in, BlockState* last, WaitEvent* e) {
  e->time = Later(in, &last->waited);
  e->duration = in->Take();
  const uint64_t what = in->Take();
  constexpr auto kStream = static_cast<uint64_t>(WaitEvent::For::kStream);
  const uint64_t stream = what - std::min(what, kStream);
  if (stream > UINT32_MAX) return "a stream's number is too large";
  e->what = static_cast<WaitEvent::For>(what - stream);
  e->stream = static_cast<uint32_t>(stream);
  return nullptr;
}

}  // namespace

Decoder::Decoder(absl::Span<const uint8_t> bytes, uint64_t first_time)
    : bytes_(bytes), last_(first_time) {}

Status Decoder::Bad(const char* what) const {
  return absl::DataLossError(absl::StrCat(what, ", at byte ", at_, " of its block"));
}

StatusOr<bool> Decoder::Next(Event* event) {
  while (at_ < bytes_.size()) {
    const uint8_t type = bytes_[at_];
    if (type == 0) return Bad("an event has no type");
    const uint8_t* const end = bytes_.data() + bytes_.size();
    VarintReader front(bytes_.data() + at_ + 1, end);
    const uint64_t length = front.Take();
    if (!front.ok() || length > front.left()) return Bad("an event is longer than its block");
    VarintReader in(front.at(), front.at() + length);
    const char* wrong = nullptr;
    bool known = true;
    switch (static_cast<EventType>(type)) {
      case EventType::kAllocate:
        Read(&in, &last_, &As<AllocateEvent>(event));
        break;
      case EventType::kFree:
        Read(&in, &last_, &As<FreeEvent>(event));
        break;
      case EventType::kCode:
        wrong = Read(&in, &As<CodeEvent>(event));
        break;
      case EventType::kWork: {
        auto& e = As<WorkEvent>(event);
        wrong = Read(&in, &last_, &e);
        ranges_ += e.told().size();
        if (ranges_ > kMostRangesOfBlock) wrong = "a block has more ranges than it may";
        break;
      }
      case EventType::kTimes:
        Read(&in, &last_, &As<TimesEvent>(event));
        break;
      case EventType::kMove:
        Read(&in, &last_, &As<MoveEvent>(event));
        break;
      case EventType::kBudget: {
        auto& e = As<BudgetEvent>(event);
        e.time = Later(&in, &last_.time);
        e.device = Bytes(in.Take());
        break;
      }
      case EventType::kLost:
        As<LostEvent>(event).count = in.Take();
        break;
      case EventType::kEnd:
        As<EndEvent>(event).time = Later(&in, &last_.time);
        break;
      case EventType::kCompare:
        Read(&in, &last_, &As<CompareEvent>(event));
        break;
      case EventType::kWait:
        wrong = Read(&in, &last_, &As<WaitEvent>(event));
        break;
      case EventType::kCost: {
        auto& e = As<CostEvent>(event);
        e.works = in.Take();
        e.nanoseconds = in.Take();
        break;
      }
      case EventType::kDiscard:
        Read(&in, &last_, &As<DiscardEvent>(event));
        break;
      case EventType::kOwn:
        Read(&in, &last_, &As<OwnEvent>(event));
        break;
      case EventType::kAlike:
        wrong = Read(&in, &As<AlikeEvent>(event));
        break;
      default:
        known = false;
    }
    if (wrong != nullptr) return Bad(wrong);
    if (!in.ok()) return Bad("an event ends too soon");
    at_ = static_cast<size_t>(front.at() + length - bytes_.data());
    if (known) return true;
    ++unknown_;
  }
  return false;
}

}  // namespace vramspan::trace
