#include "tools/replay/cache_model.h"

#include <absl/strings/str_cat.h>

#include "tools/replay/bound.h"

namespace vramspan::replay {
namespace {

class Cache {
 public:
  Cache(const ChunkedRun& run, EvictionPolicy& policy, Bytes room)
      : run_(run), policy_(policy), room_(room), state_(run.end(), kUntouched) {}

  void Access(ChunkIndex c) {
    ++counts_.accesses;
    State& state = state_[c.value];
    if (state != kPresent) {
      if (state == kUntouched) {
        ++counts_.first_touches;
      } else {
        ++counts_.misses;
        counts_.missed += run_.size(c);
      }
      state = kAway;
      if (!ComesIn(c)) return;
      state = kPresent;
    }
    policy_.OnUse(c);
  }
  void Free(uint32_t allocation) {
    for (uint32_t i = 0; i < run_.count(allocation); ++i) {
      Remove(ChunkIndex(run_.first(allocation).value + i));
    }
  }
  const CacheCounts& counts() const { return counts_; }

 private:
  enum State : uint8_t { kUntouched, kAway, kPresent };

  bool ComesIn(ChunkIndex c) {
    const Bytes size = run_.size(c);
    if (size > room_) return false;
    while (held_ + size > room_) {
      ChunkIndex victim;
      policy_.OfferVictims([&](ChunkIndex offered) {
        victim = offered;
        return true;
      });
      Remove(victim);
    }
    held_ += size;
    policy_.OnInsert(c);
    return true;
  }
  void Remove(ChunkIndex c) {
    if (state_[c.value] != kPresent) return;
    state_[c.value] = kAway;
    held_ -= run_.size(c);
    policy_.OnRemove(c);
  }

  const ChunkedRun& run_;
  EvictionPolicy& policy_;
  const Bytes room_;
  std::vector<State> state_;  // By chunk.
  Bytes held_;
  CacheCounts counts_;
};

StatusOr<CacheCounts> RunMin(const ChunkedRun& run, Bytes room) {
  CacheCounts counts;
  std::vector<bool> seen(run.end(), false);
  for (const RecordedWork& work : run.run().works) {
    for (const ChunkIndex c : run.chunks(work.set)) {
      ++counts.accesses;
      counts.first_touches += !seen[c.value];
      seen[c.value] = true;
    }
  }
  if (counts.accesses >= kMostMinAccesses) {
    return absl::ResourceExhaustedError(
        absl::StrCat("`min` looks into the future of at most ", kMostMinAccesses - 1,
                     " chunk accesses, and these "
                     "are ",
                     counts.accesses, "; use larger chunks or a shorter trace"));
  }
  counts.misses = MinMisses(run, room, /*bypass=*/true);
  return counts;
}

}  // namespace

CacheCounts RunCache(const ChunkedRun& run, EvictionPolicy& policy, Bytes room) {
  Cache cache(run, policy, room);
  for (const RecordedStep& step : run.run().steps) {
    if (step.kind == RecordedStep::Kind::kFree) cache.Free(step.index);
    if (step.kind != RecordedStep::Kind::kWork) continue;
    for (const ChunkIndex c : run.chunks(run.run().works[step.index].set)) cache.Access(c);
  }
  return cache.counts();
}

StatusOr<CacheCounts> RunCache(const ChunkedRun& run, std::string_view policy, Bytes room,
                               uint64_t seed) {
  if (policy == "min") return RunMin(run, room);
  VS_ASSIGN_OR_RETURN(const std::unique_ptr<EvictionPolicy> made, MakePolicy(policy, seed));
  return RunCache(run, *made, room);
}

std::vector<std::string_view> CachePolicyNames() {
  std::vector<std::string_view> names = PolicyNames();
  names.push_back("min");
  return names;
}

}  // namespace vramspan::replay
