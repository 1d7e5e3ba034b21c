#include "tools/replay/bound.h"

#include <algorithm>
#include <vector>

#include "runtime/base/log.h"
#include "tools/replay/position_set.h"

namespace vramspan::replay {
namespace {

constexpr uint32_t kNoUse = UINT32_MAX;

// Every access has a position: the works in their order, the chunks of each in its order.
struct NextUses {
  std::vector<ChunkIndex> chunk;  // By position.
  std::vector<uint32_t> next;     // By position: that of the same chunk's next use.
  std::vector<uint32_t> first;    // By chunk.
};

NextUses FindNextUses(const ChunkedRun& run) {
  size_t count = 0;
  for (const RecordedWork& work : run.run().works) count += run.chunks(work.set).size();
  VS_CHECK(count < kMostMinAccesses);
  NextUses uses{.chunk = std::vector<ChunkIndex>(count),
                .next = std::vector<uint32_t>(count),
                .first = std::vector<uint32_t>(run.end(), kNoUse)};
  const std::vector<RecordedStep>& steps = run.run().steps;
  auto position = static_cast<uint32_t>(count);
  for (size_t s = steps.size(); s-- > 0;) {
    if (steps[s].kind != RecordedStep::Kind::kWork) continue;
    const absl::Span<const ChunkIndex> chunks = run.chunks(run.run().works[steps[s].index].set);
    for (size_t i = chunks.size(); i-- > 0;) {
      uint32_t& next = uses.first[chunks[i].value];
      uses.chunk[--position] = chunks[i];
      uses.next[position] = next;
      next = position;
    }
  }
  return uses;
}

enum class Mode { kWorks, kAccesses, kAccessesAllComeIn };

// One pass of MIN, in granules: chunks stay from one use to the next as far as there is room, and
// where there is not, those that are needed last give way.
//
// Why that is least: take the first moment at which too much would stay. Some of what is there must
// give way by then, and whatever a schedule chooses, to choose what is needed last instead leaves
// it no worse: before this moment there was room for all, and after it what was chosen leaves the
// room sooner.
class Sweep {
 public:
  // Leaves out chunks larger than `largest`; the room is rounded down to whole `smallest`.
  Sweep(const ChunkedRun& run, const NextUses& uses, Bytes device_memory, Mode mode, Bytes smallest,
        Bytes largest)
      : run_(run),
        uses_(uses),
        device_memory_(device_memory),
        mode_(mode),
        smallest_(smallest),
        largest_(largest),
        kept_(uses.next.size()),
        kept_granules_(run.end(), 0) {}

  // The granules that had to be fetched.
  uint64_t Run() {
    SetRoom();
    for (const RecordedStep& step : run_.run().steps) {
      switch (step.kind) {
        case RecordedStep::Kind::kAllocate:
          if (mode_ == Mode::kWorks) Allocate(step.index);
          break;
        case RecordedStep::Kind::kFree:
          if (mode_ == Mode::kWorks) Free(step.index);
          break;
        case RecordedStep::Kind::kWork:
          Work(run_.chunks(run_.run().works[step.index].set).size());
          break;
      }
    }
    return fetched_;
  }

 private:
  uint32_t Granules(ChunkIndex c) const {
    return static_cast<uint32_t>(run_.size(c) / kGranularity);
  }
  void SetRoom() {
    const Bytes room =
        packed_ < device_memory_ ? Bytes(device_memory_.value - packed_.value) : Bytes();
    room_ = room / smallest_ * (smallest_ / kGranularity);
  }
  void Keep(ChunkIndex c, uint32_t until) {
    if (until == kNoUse || run_.size(c) > largest_) return;
    kept_.Insert(until);
    kept_granules_[c.value] = static_cast<uint8_t>(Granules(c));
    held_ += Granules(c);
  }
  void Allocate(uint32_t allocation) {
    if (run_.count(allocation) == 0) {
      packed_ += run_.run().allocations[allocation].size;
      SetRoom();
    }
    for (uint32_t i = 0; i < run_.count(allocation); ++i) {
      const ChunkIndex c(run_.first(allocation).value + i);
      Keep(c, uses_.first[c.value]);
    }
    GiveWay(room_);
  }
  void Free(uint32_t allocation) {
    // Of what has chunks none has a place: nothing uses them any more.
    if (run_.count(allocation) != 0) return;
    packed_ -= run_.run().allocations[allocation].size;
    SetRoom();
  }
  void Work(size_t count) {
    const size_t end = position_ + count;
    if (mode_ != Mode::kWorks) {
      for (; position_ < end; ++position_) {
        const ChunkIndex c = uses_.chunk[position_];
        Use(position_);
        if (mode_ == Mode::kAccessesAllComeIn && Granules(c) <= room_) GiveWay(room_ - Granules(c));
        Keep(c, uses_.next[position_]);
        GiveWay(room_);
      }
      return;
    }
    for (size_t p = position_; p < end; ++p) Use(p);
    for (; position_ < end; ++position_) Keep(uses_.chunk[position_], uses_.next[position_]);
    GiveWay(room_);
  }
  void Use(size_t position) {
    const ChunkIndex c = uses_.chunk[position];
    if (run_.size(c) > largest_) return;
    if (mode_ != Mode::kWorks && position == uses_.first[c.value]) return;
    fetched_ += Granules(c);
    if (!kept_.Contains(position)) return;
    fetched_ -= kept_granules_[c.value];
    held_ -= kept_granules_[c.value];
    kept_.Erase(position);
  }
  void GiveWay(uint64_t room) {
    while (held_ > room) {
      const size_t last = kept_.Greatest();
      uint8_t& kept = kept_granules_[uses_.chunk[last].value];
      const uint64_t gone = std::min<uint64_t>(kept, held_ - room);
      held_ -= gone;
      kept = static_cast<uint8_t>(kept - gone);
      if (kept == 0) kept_.Erase(last);
    }
  }

  const ChunkedRun& run_;
  const NextUses& uses_;
  const Bytes device_memory_;
  const Mode mode_;
  const Bytes smallest_, largest_;
  PositionSet kept_;                    // The next uses of what keeps its place.
  std::vector<uint8_t> kept_granules_;  // By chunk.
  Bytes packed_;
  uint64_t room_ = 0;  // In granules, as all that follows.
  uint64_t held_ = 0;
  uint64_t fetched_ = 0;
  size_t position_ = 0;
};

// Those of the chunks that are named, smallest first.
std::vector<Bytes> SizesNamed(const ChunkedRun& run) {
  uint64_t seen = 0;
  for (uint32_t s = 0; s < run.run().sets(); ++s) {
    for (const ChunkIndex c : run.chunks(s)) seen |= run.size(c).value;
  }
  std::vector<Bytes> sizes;
  for (; seen != 0; seen &= seen - 1) sizes.push_back(Bytes(seen & -seen));
  return sizes;
}

uint64_t Least(const ChunkedRun& run, Bytes device_memory, Mode mode) {
  const NextUses uses = FindNextUses(run);
  const std::vector<Bytes> sizes = SizesNamed(run);
  // In fetches of the largest chunk's granules, of which every step of the price is a whole number.
  constexpr uint64_t kWhole = ChunkBytes(kMaxChunkLog2) / kGranularity;
  uint64_t sum = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint64_t here = kWhole / (sizes[i] / kGranularity);
    const uint64_t above = i + 1 < sizes.size() ? kWhole / (sizes[i + 1] / kGranularity) : 0;
    sum += (here - above) * Sweep(run, uses, device_memory, mode, sizes.front(), sizes[i]).Run();
  }
  return (sum + kWhole - 1) / kWhole;
}

}  // namespace

bool MinIsExact(const ChunkedRun& run) { return SizesNamed(run).size() <= 1; }

uint64_t MinFetches(const ChunkedRun& run, Bytes device_memory) {
  return Least(run, device_memory, Mode::kWorks);
}

uint64_t MinMisses(const ChunkedRun& run, Bytes room, bool bypass) {
  return Least(run, room, bypass ? Mode::kAccesses : Mode::kAccessesAllComeIn);
}

}  // namespace vramspan::replay
