#include "runtime/trace/encoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/trace/format.h"
#include "runtime/trace/varint.h"

namespace vramspan::trace {
namespace {

// Type, length (most records are shorter than 128 bytes, so one byte is left for it) and what a
// longer length takes more.
constexpr size_t kFrontBytes = 2;

uint64_t RangeFlags(const TracedRange& r) {
  return static_cast<uint64_t>(r.write) | static_cast<uint64_t>(r.exact) << 1 |
         static_cast<uint64_t>(r.slot) << 2 | static_cast<uint64_t>(r.settled) << 18 |
         static_cast<uint64_t>(r.possible) << 19 | static_cast<uint64_t>(r.told) << 20;
}

}  // namespace

void BlockBytes::Grow(size_t most) {
  capacity_ = std::max({capacity_ * 2, size_ + most, size_t{4096}});
  auto bytes = std::make_unique_for_overwrite<uint8_t[]>(capacity_);
  if (size_ != 0) std::memcpy(bytes.get(), bytes_.get(), size_);
  bytes_ = std::move(bytes);
}

void Encoder::Start(uint64_t first_time) {
  first_time_ = first_time;
  events_ = 0;
  ranges_ = 0;
  bytes_.Clear();
  bytes_.Room(reserve_);
  // The ranges' memory is kept: the next block has the same codes.
  last_.time = last_.end = last_.waited = last_.discarded = first_time;
  last_.base = last_.id = last_.measured_id = last_.compared_base = last_.compared_id = 0;
  last_.discarded_base = 0;
  if (last_.ranges.size() > 4096) last_.ranges.clear();
  for (auto& [code, ranges] : last_.ranges) ranges.clear();
}

BlockBytes Encoder::Take() {
  events_ = 0;
  reserve_ = bytes_.size() + 1024;
  return std::exchange(bytes_, {});
}

uint8_t* Encoder::Open(EventType type, size_t most) {
  // A length of more than a byte is put in later.
  uint8_t* const at = bytes_.Room(kFrontBytes + most + kMostVarint);
  *at = static_cast<uint8_t>(type);
  body_ = bytes_.size() + kFrontBytes;
  return at + kFrontBytes;
}

void Encoder::Close(uint8_t* end) {
  uint8_t* const body = bytes_.data() + body_;
  const auto length = static_cast<size_t>(end - body);
  if (length < 0x80) [[likely]] {
    body[-1] = static_cast<uint8_t>(length);
  } else {
    uint8_t text[kMostVarint];
    const auto width = static_cast<size_t>(PutVarint(text, length) - text);
    std::memmove(body + width - 1, body, length);
    std::memcpy(body - 1, text, width);
    end += width - 1;
  }
  bytes_.EndAt(end);
  ++events_;
}

void Encoder::Add(const AllocateEvent& e) {
  uint8_t* at = Open(EventType::kAllocate, 3 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.time, e.time), e.time));
  at = PutVarint(at, Fold(std::exchange(last_.base, e.base.value), e.base.value));
  at = PutVarint(at, e.size.value);
  Close(at);
}

void Encoder::Add(const FreeEvent& e) {
  uint8_t* at = Open(EventType::kFree, 2 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.time, e.time), e.time));
  at = PutVarint(at, Fold(std::exchange(last_.base, e.base.value), e.base.value));
  Close(at);
}

void Encoder::AddCode(uint32_t code, uint64_t shape, std::string_view name) {
  name = name.substr(0, kMostName);
  uint8_t* at = Open(EventType::kCode, 2 * kMostVarint + name.size());
  at = PutVarint(at, code);
  at = PutVarint(at, shape);
  at = std::copy(name.begin(), name.end(), at);
  Close(at);
}

void Encoder::Add(const WorkEvent& e) {
  absl::Span<const TracedRange> rest = e.told();
  // More than a record holds goes on in the next, of the same id.
  do {
    AddWork(e, rest.subspan(0, kMostRanges));
    rest.remove_prefix(std::min(rest.size(), kMostRanges));
  } while (!rest.empty());
}

void Encoder::AddWork(const WorkEvent& e, absl::Span<const TracedRange> ranges) {
  std::vector<TracedRange>& before = last_.ranges[e.code];
  ranges_ += ranges.size();
  const bool same = ranges == absl::MakeConstSpan(before);
  uint8_t* at = Open(EventType::kWork, (6 + (same ? 0 : ranges.size() * 4)) * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.time, e.time), e.time));
  at = PutVarint(at, Fold(std::exchange(last_.id, e.id), e.id));
  at = PutVarint(at, e.stream);
  at = PutVarint(at, e.code);
  at = PutVarint(at, static_cast<uint64_t>(same) | static_cast<uint64_t>(!e.complete) << 1 |
                         static_cast<uint64_t>(e.kind) << 2 | static_cast<uint64_t>(e.trust) << 5);
  if (!same) {
    at = PutVarint(at, ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      // As the same place had it last time, else as the range before it.
      const TracedRange none;
      const TracedRange& like = i < before.size() ? before[i] : i > 0 ? ranges[i - 1] : none;
      at = PutVarint(at, RangeFlags(ranges[i]));
      at = PutVarint(at, Fold(like.ptr.value, ranges[i].ptr.value));
      at = PutVarint(at, Fold(like.size.value, ranges[i].size.value));
    }
    before.assign(ranges.begin(), ranges.end());
  }
  Close(at);
}

void Encoder::Add(const TimesEvent& e) {
  uint8_t* at = Open(EventType::kTimes, 4 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.measured_id, e.id), e.id));
  at = PutVarint(at, Fold(last_.end, e.start));
  at = PutVarint(at, e.duration);
  at = PutVarint(at, e.remote.value);
  last_.end = e.start + e.duration;
  Close(at);
}

void Encoder::Add(const MoveEvent& e) {
  uint8_t* at = Open(EventType::kMove, 5 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.time, e.time), e.time));
  at = PutVarint(at, Fold(std::exchange(last_.base, e.base.value), e.base.value));
  at = PutVarint(at, e.size.value);
  at = PutVarint(at, static_cast<uint64_t>(e.in) | static_cast<uint64_t>(e.clean) << 1);
  at = PutVarint(at, e.duration);
  Close(at);
}

void Encoder::Add(const BudgetEvent& e) {
  uint8_t* at = Open(EventType::kBudget, 2 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.time, e.time), e.time));
  at = PutVarint(at, e.device.value);
  Close(at);
}

void Encoder::Add(const LostEvent& e) {
  Close(PutVarint(Open(EventType::kLost, kMostVarint), e.count));
}

void Encoder::Add(const EndEvent& e) {
  Close(PutVarint(Open(EventType::kEnd, kMostVarint),
                  Fold(std::exchange(last_.time, e.time), e.time)));
}

void Encoder::Add(const CompareEvent& e) {
  uint8_t* at = Open(EventType::kCompare, 5 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.compared_base, e.base.value), e.base.value));
  at = PutVarint(at, e.size.value);
  at = PutVarint(at, static_cast<uint64_t>(e.same));
  at = PutVarint(at, Fold(std::exchange(last_.compared_id, e.last), e.last));
  at = PutVarint(at, e.last - e.first);
  Close(at);
}

void Encoder::Add(const WaitEvent& e) {
  uint8_t* at = Open(EventType::kWait, 3 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.waited, e.time), e.time));
  at = PutVarint(at, e.duration);
  // A stream's number follows what else there is.
  const auto what = static_cast<uint64_t>(e.what);
  at = PutVarint(at, e.what == WaitEvent::For::kStream ? what + e.stream : what);
  Close(at);
}

void Encoder::Add(const DiscardEvent& e) {
  uint8_t* at = Open(EventType::kDiscard, 4 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.discarded, e.time), e.time));
  at = PutVarint(at, Fold(std::exchange(last_.discarded_base, e.base.value), e.base.value));
  at = PutVarint(at, e.size.value);
  at = PutVarint(at, static_cast<uint64_t>(e.unowned));
  Close(at);
}

void Encoder::Add(const OwnEvent& e) {
  uint8_t* at = Open(EventType::kOwn, 3 * kMostVarint);
  at = PutVarint(at, Fold(std::exchange(last_.discarded, e.time), e.time));
  at = PutVarint(at, Fold(std::exchange(last_.discarded_base, e.base.value), e.base.value));
  at = PutVarint(at, e.size.value);
  Close(at);
}

void Encoder::Add(const AlikeEvent& e) {
  uint8_t* at = Open(EventType::kAlike, 2 * kMostVarint);
  at = PutVarint(at, e.code);
  at = PutVarint(at, e.first);
  Close(at);
}

void Encoder::Add(const CostEvent& e) {
  uint8_t* at = Open(EventType::kCost, 2 * kMostVarint);
  at = PutVarint(at, e.works);
  at = PutVarint(at, e.nanoseconds);
  Close(at);
}

}  // namespace vramspan::trace
