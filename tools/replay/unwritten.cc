#include "tools/replay/unwritten.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <utility>

namespace vramspan::replay {

std::vector<bool> UnwrittenByMoves(const RecordedRun& run) {
  struct Left {
    uint64_t clean = 0, copied = 0;
  };
  std::vector<Left> first(run.allocations.size()), again(run.allocations.size());
  absl::flat_hash_set<std::pair<uint32_t, uint64_t>> came;  // Allocation and offset.
  for (const RecordedMove& m : run.moves) {
    if (m.in) {
      came.emplace(m.allocation, m.offset);
      continue;
    }
    Left& left = (came.contains({m.allocation, m.offset}) ? again : first)[m.allocation];
    (m.clean ? left.clean : left.copied) += m.size;
  }
  std::vector<bool> unwritten;
  for (size_t a = 0; a < first.size(); ++a) {
    const bool knows = again[a].clean + again[a].copied != 0;
    const Left& left = knows ? again[a] : first[a];
    unwritten.push_back(left.clean > (knows ? left.copied : 0) && (knows || left.copied == 0));
  }
  return unwritten;
}

std::vector<uint32_t> UnwrittenByFingerprints(const ChunkedRun& chunks) {
  const RecordedRun& run = chunks.run();
  // The run may have been cut otherwise: by what all chunks are made of.
  const uint64_t unit = kGranularity.value;
  absl::flat_hash_map<uint32_t, std::vector<uint32_t>> from;  // By allocation and unit.
  for (const RecordedComparison& c : run.comparisons) {
    if (ChunkedRun::Packed(run.allocations[c.allocation].size)) continue;
    const uint64_t end = c.offset + c.size;
    const uint64_t size = run.allocations[c.allocation].size.value;
    std::vector<uint32_t>& units = from[c.allocation];
    units.resize(RoundUp(Bytes(size), kGranularity) / kGranularity, kNeverUnwritten);
    for (uint64_t i = c.offset / unit; i * unit < end; ++i) {
      uint32_t& since = units[i];
      if (!c.same) {
        since = kNeverUnwritten;
      } else if (i * unit >= c.offset && std::min((i + 1) * unit, size) <= end) {
        since = std::min(since, c.first);
      }
    }
  }
  std::vector<uint32_t> by_chunk(chunks.end(), kNeverUnwritten);
  for (const auto& [a, units] : from) {
    for (uint32_t i = 0; i < chunks.count(a); ++i) {
      const ChunkIndex c(chunks.first(a).value + i);
      const auto first = units.begin() + static_cast<ptrdiff_t>(chunks.offset(c) / kGranularity);
      const auto count = static_cast<ptrdiff_t>(chunks.size(c) / kGranularity);
      by_chunk[c.value] = *std::max_element(first, first + count);
    }
  }
  return by_chunk;
}

}  // namespace vramspan::replay
