#include "tools/replay/chunked_run.h"

#include <algorithm>

#include "runtime/placement/move_limits.h"
#include "runtime/scheduler/sequence.h"
#include "runtime/space/allocations.h"
#include "tools/replay/known_sets.h"

namespace vramspan::replay {

ChunkedRun::ChunkedRun(const RecordedRun* run, int chunk_log2, Bytes device_memory) : run_(run) {
  log2_.push_back(0);  // Id 0 is no chunk.
  allocation_.push_back(0);
  first_.reserve(run->allocations.size() + 1);
  for (uint32_t a = 0; a < run->allocations.size(); ++a) {
    first_.push_back(static_cast<uint32_t>(log2_.size()));
    const Bytes size = run->allocations[a].size;
    if (Packed(size)) continue;
    std::vector<int> sizes = ChunkSizesFor(size, chunk_log2);
    if (const int most = LargestChunk(device_memory); chunk_log2 == 0 && sizes.front() > most) {
      sizes = ChunkSizesFor(size, most);
    }
    for (const int log2 : sizes) log2_.push_back(static_cast<uint8_t>(log2));
    allocation_.resize(log2_.size(), a);
  }
  first_.push_back(static_cast<uint32_t>(log2_.size()));

  std::vector<size_t> place(log2_.size(), 0);  // In this set: 1 + its position in uses_.
  set_first_.reserve(run->sets() + 1);
  for (uint32_t s = 0; s < run->sets(); ++s) {
    const size_t begin = uses_.size();
    set_first_.push_back(begin);
    for (const RecordedRange& r : run->set(s)) {
      Use use = {.slot = r.slot, .write = r.write, .once = r.exact};
      ForEachChunk(r, [&](ChunkIndex c) {
        const uint64_t at = offset(c).value;
        const uint64_t to = std::min(r.offset + r.size, at + size(c).value);
        use.part = NamedPart::Of(Bytes(to - std::max(r.offset, at)));
        if (place[c.value] > begin) {
          uses_[place[c.value] - 1].how.Add(use);
          return;
        }
        uses_.push_back({c, use});
        place[c.value] = uses_.size();
      });
    }
  }
  set_first_.push_back(uses_.size());
  ids_.reserve(uses_.size());
  for (const ChunkUse& use : uses_) ids_.push_back(use.chunk);
  hashes_.reserve(run->sets());
  for (uint32_t s = 0; s < run->sets(); ++s) hashes_.push_back(Sequence::HashOf(uses(s)));
}

ChunkedRun::~ChunkedRun() = default;

const KnownSets& ChunkedRun::known(bool loose) const {
  Known& known = known_[loose];
  std::call_once(known.found, [&] { known.sets = std::make_unique<KnownSets>(this, loose); });
  return *known.sets;
}

Bytes ChunkedRun::offset(ChunkIndex c) const {
  // As many of the first size as there are, then smaller ones, each of another size.
  const uint32_t first = first_[allocation_[c.value]];
  uint32_t of_first = c.value - first;
  Bytes rest;
  while (of_first > 0 && log2_[first + of_first - 1] != log2_[first]) {
    --of_first;
    rest += ChunkBytes(log2_[first + of_first]);
  }
  return ChunkBytes(log2_[first]) * of_first + rest;
}

}  // namespace vramspan::replay
