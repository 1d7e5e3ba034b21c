#include "runtime/scheduler/idle_fetches.h"

#include <algorithm>
#include <utility>

#include "runtime/placement/move_limits.h"

namespace vramspan {

void IdleFetches::Add(const Residency& residency, const Heat& heat, Bytes room, Instant now,
                      std::vector<ChunkIndex>* fetch) {
  if (!due_ || now < not_before_) return;
  not_before_ = now + Duration(kIdleFetchPeriodNs);
  due_ = false;
  if (room < ChunkBytes(kMinChunkLog2)) return;
  std::vector<std::pair<double, ChunkIndex>> warm;
  Bytes all;
  for (uint32_t i = 1; i < residency.end(); ++i) {
    const ChunkIndex index(i);
    const Chunk& c = residency[index];
    if (c.state != ChunkState::kHost || c.in_flight != 0 || !residency.Movable(c) ||
        Residency::ServedInPlace(c)) {
      continue;
    }
    // What holds nothing comes last, and so that all memory is on the device again.
    const double of = c.empty() ? 0 : heat.Of(index);
    if (heat.IsBarred(index)) continue;
    all += c.size();
    warm.emplace_back(of, index);
  }
  // Where there is room for all of it, nothing gains by lying there.
  if (all > room) std::erase_if(warm, [](const auto& of) { return of.first < kWarm; });
  // A heap: few of many come back.
  const auto later = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second.value > b.second.value;
  };
  std::make_heap(warm.begin(), warm.end(), later);
  while (!warm.empty() && fetch->size() < kReturnedAtOnce && room >= ChunkBytes(kMinChunkLog2)) {
    std::pop_heap(warm.begin(), warm.end(), later);
    const ChunkIndex index = warm.back().second;
    warm.pop_back();
    if (residency[index].size() > room) continue;
    room -= residency[index].size();
    fetch->push_back(index);
  }
  // What had no place among them, or does not come after all, is looked at again.
  due_ = !fetch->empty();
}

}  // namespace vramspan
