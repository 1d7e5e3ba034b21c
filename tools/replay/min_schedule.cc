#include "tools/replay/min_schedule.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace vramspan::replay {
namespace {

// A place that is kept for a chunk until work needs it.
struct Kept {
  uint32_t needed_by;
  uint32_t chunk;
  uint64_t access;  // After which it is kept.

  bool operator<(const Kept& o) const {
    return std::pair(needed_by, chunk) < std::pair(o.needed_by, o.chunk);
  }
};

}  // namespace

MinSchedule::MinSchedule(const ChunkedRun& run, Bytes device_memory) : keeps_first_(run.end()) {
  const RecordedRun& recorded = run.run();
  uint64_t accesses = 0;
  first_.reserve(recorded.works.size());
  for (const RecordedWork& w : recorded.works) {
    first_.push_back(accesses);
    accesses += run.chunks(w.set).size();
  }
  keeps_.resize(accesses);
  next_.resize(accesses);
  first_use_.resize(run.end(), kNotAgain);
  for (uint32_t w = static_cast<uint32_t>(recorded.works.size()); w-- > 0;) {
    const auto chunks = run.chunks(recorded.works[w].set);
    for (size_t i = 0; i < chunks.size(); ++i) {
      next_[first_[w] + i] = std::exchange(first_use_[chunks[i].value], w);
    }
  }

  // By access; the accesses beyond the last are the allocations.
  std::vector<bool> has_place(run.end());
  std::priority_queue<Kept> kept;  // Those that were used or freed meanwhile are still in it.
  std::vector<uint64_t> kept_since(run.end(), 0);
  Bytes used, packed;
  const auto keep = [&](ChunkIndex c, uint32_t needed_by, uint64_t access) {
    if (has_place[c.value]) used -= run.size(c);
    has_place[c.value] = needed_by != kNotAgain;
    if (!has_place[c.value]) return;
    used += run.size(c);
    kept_since[c.value] = access;
    kept.push({needed_by, c.value, access});
  };
  const auto set = [&](uint64_t access, uint32_t chunk, bool value) {
    if (access < accesses) {
      keeps_[access] = value;
    } else {
      keeps_first_[chunk] = value;
    }
  };
  const auto fit = [&] {
    while (used + packed > device_memory && !kept.empty()) {
      const Kept last = kept.top();
      kept.pop();
      if (!has_place[last.chunk] || kept_since[last.chunk] != last.access) continue;
      has_place[last.chunk] = false;
      used -= run.size(ChunkIndex(last.chunk));
      set(last.access, last.chunk, false);
    }
  };
  for (const RecordedStep& step : recorded.steps) {
    if (step.kind == RecordedStep::Kind::kWork) {
      fit();
      const auto chunks = run.chunks(recorded.works[step.index].set);
      for (size_t i = 0; i < chunks.size(); ++i) {
        const uint64_t access = first_[step.index] + i;
        if (!has_place[chunks[i].value]) ++fetches_;
        keep(chunks[i], next_[access], access);
        set(access, chunks[i].value, next_[access] != kNotAgain);
      }
      continue;
    }
    const bool comes = step.kind == RecordedStep::Kind::kAllocate;
    if (run.count(step.index) == 0) {
      const Bytes size = recorded.allocations[step.index].size;
      comes ? packed += size : packed -= size;
      continue;
    }
    for (uint32_t i = 0; i < run.count(step.index); ++i) {
      const ChunkIndex c(run.first(step.index).value + i);
      keep(c, comes ? first_use_[c.value] : kNotAgain, accesses + c.value);
      if (comes) set(accesses + c.value, c.value, first_use_[c.value] != kNotAgain);
    }
  }
}

}  // namespace vramspan::replay
