#include "tools/replay/traced_order.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tools/replay/chunked_run.h"

namespace vramspan::replay {
namespace {

// No machine has more.
constexpr Bytes kMostAllocation = GiB(8 << 10);
constexpr uint32_t kNotYet = UINT32_MAX;

std::string HexText(DevicePtr p) { return absl::StrFormat("0x%x", p.value); }

}  // namespace

TracedOrder::TracedOrder(const RunLimits& limits, TracedEvents events, TraceProblems* problems)
    : limits_(limits),
      events_(std::move(events)),
      problems_(*problems),
      order_(events_.works.size(), kNotYet),
      move_placed_(events_.moves.size()) {
  for (size_t i = 0; i < events_.compared.size(); ++i) {
    const auto last = events_.ids.find(events_.compared[i].last);
    if (last != events_.ids.end()) compared_behind_[last->second].push_back(i);
  }
}

Status TracedOrder::Build(RecordedRun* run) {
  run_ = run;
  run->codes = std::move(events_.codes);
  run->waits = std::move(events_.waits);
  run->works.reserve(events_.works.size());
  // What took memory is told after it was taken and what frees it before. So of two threads that
  // use an address the right one comes first.
  std::vector<TracedCall>& calls = events_.calls;
  std::stable_sort(calls.begin(), calls.end(),
                   [](const TracedCall& a, const TracedCall& b) { return a.time < b.time; });
  for (const TracedCall& call : calls) {
    switch (call.kind) {
      case TracedCall::Kind::kAllocate:
        VS_RETURN_IF_ERROR(Allocate(call));
        break;
      case TracedCall::Kind::kFree:
        Free(call);
        break;
      case TracedCall::Kind::kWork:
        VS_RETURN_IF_ERROR(Work(call));
        break;
      case TracedCall::Kind::kDiscard:
        VS_RETURN_IF_ERROR(Discard(call));
        break;
      case TracedCall::Kind::kMove:
        if (!move_placed_[call.index]) move_placed_[call.index] = Move(events_.moves[call.index]);
        break;
    }
  }
  std::stable_sort(run->moves.begin(), run->moves.end(),
                   [](const RecordedMove& a, const RecordedMove& b) { return a.time < b.time; });
  std::stable_sort(run->waits.begin(), run->waits.end(),
                   [](const RecordedWait& a, const RecordedWait& b) { return a.time < b.time; });
  PutTimes();
  return absl::OkStatus();
}

Status TracedOrder::Allocate(const TracedCall& call) {
  if (call.size.value == 0 || call.size > kMostAllocation ||
      call.base.value + call.size.value < call.base.value) {
    problems_.Note(absl::StrCat("an allocation of ", call.size.value, " bytes at ",
                                HexText(call.base),
                                " is left out, because no machine has that much"));
    return absl::OkStatus();
  }
  granules_ += ChunkedRun::Packed(call.size) ? 0 : GranulesOf(0, call.size.value);
  if (granules_ > limits_.granules) {
    return events_.TooMuch(call.block, limits_.granules, "granules of 2 MiB allocated");
  }
  // What still lives there and overlaps went unseen when it was freed.
  auto next = live_.upper_bound(call.base);
  if (next != live_.begin()) --next;
  while (next != live_.end() && next->first < call.base + call.size) {
    const RecordedAllocation& old = run_->allocations[next->second];
    if (old.base + old.size <= call.base) {
      ++next;
      continue;
    }
    problems_.Note(absl::StrCat("an allocation at ", HexText(call.base), " lies over one at ",
                                HexText(old.base), " that was not freed; it is taken as freed"));
    End(next->second, call.time);
    next = live_.erase(next);
  }
  const auto index = static_cast<uint32_t>(run_->allocations.size());
  run_->allocations.push_back(
      {.base = call.base, .size = call.size, .allocated = call.time, .name = {}});
  run_->steps.push_back({RecordedStep::Kind::kAllocate, index});
  live_[call.base] = index;
  return absl::OkStatus();
}

void TracedOrder::End(uint32_t allocation, uint64_t time) {
  run_->allocations[allocation].freed = time;
  run_->steps.push_back({RecordedStep::Kind::kFree, allocation});
  // What was known of sets holds for what lives now.
  ++epoch_;
}

void TracedOrder::Free(const TracedCall& call) {
  const auto it = live_.find(call.base);
  if (it == live_.end()) {
    problems_.Note(
        absl::StrCat("a free of ", HexText(call.base), ", which was never allocated, is left out"));
    return;
  }
  End(it->second, call.time);
  live_.erase(it);
}

Status TracedOrder::Work(const TracedCall& call) {
  RecordedWork work = events_.works[call.index];
  Placed& placed = placed_[work.set];
  if (placed.allocations != run_->allocations.size() || placed.epoch != epoch_) {
    VS_RETURN_IF_ERROR(PlaceSet(call, work.set));
    const uint32_t sets = run_->sets();
    placed = {run_->allocations.size(), epoch_,
              run_->AddSet(ranges_, static_cast<uint32_t>(possible_.size()))};
    if (run_->sets() != sets) kept_ranges_ += ranges_.size();
  }
  work.set = placed.set;
  named_ += run_->set(work.set).size() + run_->may_touch(work.set).size();
  if (named_ > limits_.accesses) {
    return events_.TooMuch(call.block, limits_.accesses, "ranges named by all work together");
  }
  const auto index = static_cast<uint32_t>(run_->works.size());
  order_[call.index] = index;
  run_->steps.push_back({RecordedStep::Kind::kWork, index});
  run_->works.push_back(work);
  const auto compared = compared_behind_.find(call.index);
  if (compared == compared_behind_.end()) return absl::OkStatus();
  for (const size_t i : compared->second) Compare(events_.compared[i], index);
  return absl::OkStatus();
}

Status TracedOrder::Discard(const TracedCall& call) {
  std::vector<RecordedRange> pieces;
  ++pieces_;
  if (call.size != Bytes(0)) {
    Place({.ptr = call.base, .size = call.size}, &pieces);
  } else {
    // Of no other could any be nobody's.
    pieces_ += unowned_.size();
    for (const uint32_t allocation : unowned_) {
      const RecordedAllocation& a = run_->allocations[allocation];
      if (a.freed == kNever) pieces.push_back({.allocation = allocation, .size = a.size.value});
    }
    unowned_.clear();
  }
  if (pieces_ > limits_.pieces) {
    return events_.TooMuch(call.block, limits_.pieces, "pieces of allocations named");
  }
  const auto step = static_cast<uint32_t>(run_->steps.size());
  for (const RecordedRange& r : pieces) {
    run_->discards.push_back({call.time, r.allocation, r.offset, r.size, step, call.discard});
    if (call.discard == RecordedDiscard::Kind::kUnowned) unowned_.insert(r.allocation);
  }
  return absl::OkStatus();
}

void TracedOrder::Compare(const trace::CompareEvent& e, uint32_t last) {
  if (e.size > ChunkBytes(kMaxChunkLog2)) return;
  const auto first = events_.ids.find(e.first);
  const auto next = live_.upper_bound(e.base);
  if (first == events_.ids.end() || order_[first->second] >= last || next == live_.begin()) return;
  const uint32_t index = std::prev(next)->second;
  const RecordedAllocation& a = run_->allocations[index];
  const uint32_t begin = order_[first->second];
  // The first was of what lived there before.
  if (e.base >= a.base + a.size || run_->works[begin].submitted < a.allocated) return;
  const uint64_t offset = (e.base - a.base).value;
  run_->comparisons.push_back({.allocation = index,
                               .offset = offset,
                               .size = std::min(e.size.value, a.size.value - offset),
                               .first = begin,
                               .last = last,
                               .same = e.same});
}

Status TracedOrder::PlaceSet(const TracedCall& call, uint32_t set) {
  ranges_.clear();
  possible_.clear();
  for (const trace::TracedRange& r : events_.sets[set]) {
    ++pieces_;
    Place(r, r.possible ? &possible_ : &ranges_);
    if (pieces_ > limits_.pieces) {
      return events_.TooMuch(call.block, limits_.pieces, "pieces of allocations named");
    }
    if (kept_ranges_ + ranges_.size() + possible_.size() > limits_.ranges) {
      return events_.TooMuch(call.block, limits_.ranges, "ranges of different work");
    }
  }
  ranges_.insert(ranges_.end(), possible_.begin(), possible_.end());
  return absl::OkStatus();
}

void TracedOrder::Place(const trace::TracedRange& r, std::vector<RecordedRange>* out) {
  auto it = live_.upper_bound(r.ptr);
  if (it == live_.begin()) return;
  --it;
  DevicePtr at = r.ptr;
  uint64_t left = r.size.value;
  // Memory that a program maps itself goes on from one piece to the next.
  for (; it != live_.end(); ++it) {
    const RecordedAllocation& a = run_->allocations[it->second];
    if (at < a.base || at >= a.base + a.size) return;
    const uint64_t offset = (at - a.base).value;
    const uint64_t size = std::min(left, a.size.value - offset);
    ++pieces_;
    out->push_back({.allocation = it->second,
                    .offset = offset,
                    .size = size,
                    .slot = r.slot,
                    .write = r.write,
                    .exact = r.exact,
                    .settled = r.settled,
                    .told = r.told});
    left -= size;
    at = a.base + a.size;
    if (left == 0) return;
  }
}

bool TracedOrder::Move(const trace::MoveEvent& e) {
  const auto it = live_.upper_bound(e.base);
  if (it == live_.begin()) return false;
  const uint32_t index = std::prev(it)->second;
  const RecordedAllocation& a = run_->allocations[index];
  // The end of the last chunk lies behind what was asked for.
  if (e.base >= a.base + RoundUp(a.size, kGranularity)) return false;
  run_->moves.push_back({.time = e.time,
                         .duration = e.duration,
                         .allocation = index,
                         .offset = (e.base - a.base).value,
                         .size = e.size.value,
                         .in = e.in,
                         .clean = e.clean});
  return true;
}

void TracedOrder::PutTimes() {
  for (const trace::TimesEvent& e : events_.times) {
    const auto it = events_.ids.find(e.id);
    if (it == events_.ids.end() || e.start + e.duration < e.start) continue;  // Its work was lost.
    RecordedWork& work = run_->works[order_[it->second]];
    work.start = e.start;
    work.end = e.start + e.duration;
    work.remote = e.remote.value;
  }
}

}  // namespace vramspan::replay
