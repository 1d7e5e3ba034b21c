#include "tools/replay/replayed_prints.h"

#include <optional>
#include <vector>

namespace vramspan::replay {

void ReplayedPrints::Submitted(ActiveWork* a) {
  if (!traced_) return;
  which_.Choose(a, memory_.host_used(), [] { return std::optional<uint32_t>(0); });
  if (!a->held || a->prints.places.empty()) return;
  scheduler_.work().FollowedBy(a, WorkPrints::Launches(a->prints.places.size()));
}

void ReplayedPrints::Released(ActiveWork* a) {
  std::vector<WorkPrint>& places = a->prints.places;
  size_t taken = 0;
  Bytes read;
  which_.Ask(*a, memory_.host_used(), [&](const WorkPrint& print) {
    read += memory_[print.chunk].size();
    // No further than the one that is looked at.
    places[taken++] = {print.chunk, memory_.facts(print.chunk).version};
  });
  places.resize(taken);
  if (taken != 0) a->behind = static_cast<uint64_t>(static_cast<double>(read.value) / gb_per_s_);
}

void ReplayedPrints::Ended(const ActiveWork& a) {
  for (const WorkPrint& print : a.prints.places) {
    const Fingerprint found = memory_.PrintOf(print.chunk, print.slot);
    if (!scheduler_.Found(print.chunk, a.id, found)) continue;
    memory_[print.chunk].Transition(ChunkState::kDevice);
    memory_.table().NoteChange(print.chunk);
  }
}

}  // namespace vramspan::replay
