#include "tools/replay/recorded_run.h"

#include <absl/hash/hash.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "runtime/space/small_objects.h"

namespace vramspan::replay {
namespace {

Bytes Charged(Bytes size) {
  return size <= SmallObjects::kMaxSmall ? size : RoundUp(size, kGranularity);
}

uint64_t Hash(absl::Span<const RecordedRange> ranges, uint32_t possible) {
  uint64_t hash = absl::HashOf(ranges.size(), possible);
  for (const RecordedRange& r : ranges) {
    hash = absl::HashOf(hash, r.allocation, r.offset, r.size, r.slot, r.write, r.exact, r.settled,
                        r.told);
  }
  return hash;
}

}  // namespace

uint32_t RecordedRun::AddSet(absl::Span<const RecordedRange> ranges, uint32_t possible) {
  const auto likely = static_cast<uint32_t>(ranges.size()) - possible;
  std::vector<uint32_t>& same = by_hash_[Hash(ranges, possible)];
  for (const uint32_t index : same) {
    if (set(index) == ranges.first(likely) && may_touch(index) == ranges.subspan(likely)) {
      return index;
    }
  }
  const auto index = static_cast<uint32_t>(sets_.size());
  sets_.push_back({ranges_.size(), likely, possible});
  ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
  same.push_back(index);
  return index;
}

Bytes RecordedRun::PeakBytes() const {
  Bytes now, peak;
  for (const RecordedStep& step : steps) {
    if (step.kind == RecordedStep::Kind::kAllocate) {
      now += Charged(allocations[step.index].size);
      peak = std::max(peak, now);
    } else if (step.kind == RecordedStep::Kind::kFree) {
      now -= Charged(allocations[step.index].size);
    }
  }
  return peak;
}

uint64_t RecordedRun::Duration() const {
  uint64_t first = kNever, last = 0;
  for (const RecordedWork& work : works) {
    first = std::min(first, work.submitted);
    last = std::max({last, work.submitted, work.end});
  }
  if (works.empty()) return 0;
  for (const RecordedAllocation& allocation : allocations) {
    last = std::max(last, allocation.allocated);
    if (allocation.freed != kNever) last = std::max(last, allocation.freed);
  }
  return last - first;
}

Status RecordedRun::Check() const {
  const auto bad = [](auto&&... parts) {
    return absl::InternalError(absl::StrCat("the recorded run contradicts itself: ", parts...));
  };
  for (uint32_t s = 0; s < sets(); ++s) {
    for (const absl::Span<const RecordedRange> ranges : {set(s), may_touch(s)}) {
      for (const RecordedRange& r : ranges) {
        if (r.allocation >= allocations.size()) return bad("set ", s, " names no allocation");
        const uint64_t size = allocations[r.allocation].size.value;
        if (r.offset > size || r.size > size - r.offset) {
          return bad("set ", s, " leaves allocation ", r.allocation);
        }
      }
    }
  }
  for (const RecordedCode& code : codes) {
    if (code.alike.value_or(0) >= codes.size()) return bad("a code is like one that is none");
  }
  enum : uint8_t { kUnborn, kLive, kDead };
  std::vector<uint8_t> state(allocations.size(), kUnborn);
  std::vector<bool> seen(works.size(), false);
  size_t discarded = 0;
  for (uint32_t next = 0; next <= steps.size(); ++next) {
    for (; discarded < discards.size() && discards[discarded].step == next; ++discarded) {
      const RecordedDiscard& d = discards[discarded];
      if (d.allocation >= allocations.size() || state[d.allocation] != kLive) {
        return bad("what is discarded before step ", next, " is not allocated");
      }
      const uint64_t size = allocations[d.allocation].size.value;
      if (d.offset > size || d.size > size - d.offset) {
        return bad("what is discarded leaves allocation ", d.allocation);
      }
    }
    if (next == steps.size()) break;
    const RecordedStep& step = steps[next];
    if (step.kind == RecordedStep::Kind::kWork) {
      if (step.index >= works.size() || seen[step.index]) return bad("work ", step.index);
      seen[step.index] = true;
      const RecordedWork& w = works[step.index];
      if (w.code >= codes.size() || w.set >= sets() || w.end < w.start) {
        return bad("work ", step.index, " names no code or set, or ends before it starts");
      }
      for (const absl::Span<const RecordedRange> ranges : {set(w.set), may_touch(w.set)}) {
        for (const RecordedRange& r : ranges) {
          if (state[r.allocation] != kLive) {
            return bad("work ", step.index, " touches freed memory");
          }
        }
      }
      continue;
    }
    const uint8_t before = step.kind == RecordedStep::Kind::kAllocate ? kUnborn : kLive;
    if (step.index >= allocations.size() || state[step.index] != before) {
      return bad("allocation ", step.index, " comes or goes twice");
    }
    state[step.index] = static_cast<uint8_t>(before + 1);
  }
  if (discarded != discards.size()) return bad("what is discarded is not in order");
  for (const RecordedComparison& c : comparisons) {
    if (c.allocation >= allocations.size() || c.last >= works.size() || c.first >= c.last) {
      return bad("a comparison of allocation ", c.allocation);
    }
    const uint64_t size = allocations[c.allocation].size.value;
    if (c.offset > size || c.size > size - c.offset) {
      return bad("a comparison leaves allocation ", c.allocation);
    }
  }
  uint64_t waited = 0;
  for (const RecordedWait& w : waits) {
    if (w.duration > w.time || w.time < std::exchange(waited, w.time)) {
      return bad("a wait that ends at ", w.time);
    }
  }
  if (!std::all_of(seen.begin(), seen.end(), [](bool b) { return b; })) {
    return bad("some work is in no step");
  }
  return absl::OkStatus();
}

}  // namespace vramspan::replay
