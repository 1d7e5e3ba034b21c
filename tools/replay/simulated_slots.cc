#include "tools/replay/simulated_slots.h"

#include "runtime/space/give_back.h"

namespace vramspan::replay {

double SimulatedSlots::Take(int log2, bool alias, Bytes room, bool* has_alias) {
  std::deque<bool>& mine = slots_[log2 - kMinChunkLog2];
  const MapCosts& device = prices_.device[log2 - kMinChunkLog2];
  double calls = 0;
  if (mine.empty()) {
    calls = device.create;
    *has_alias = false;
  } else {
    *has_alias = mine.back();
    mine.pop_back();
    bytes_ -= ChunkBytes(log2);
  }
  calls += Trim(room);
  if (alias && !*has_alias) {
    calls += device.map + device.access;
    *has_alias = true;
  }
  return calls;
}

double SimulatedSlots::Trim(Bytes room) {
  double calls = 0;
  while (bytes_ > room) {
    const int pick = SizeToGiveBack(
        bytes_ - room, [this](int size) { return !slots_[size - kMinChunkLog2].empty(); });
    const MapCosts& other = prices_.device[pick - kMinChunkLog2];
    std::deque<bool>& goes = slots_[pick - kMinChunkLog2];
    calls += other.release + (goes.front() ? other.unmap : 0);
    goes.pop_front();
    bytes_ -= ChunkBytes(pick);
  }
  return calls;
}

void SimulatedSlots::Give(int log2, bool has_alias) {
  slots_[log2 - kMinChunkLog2].push_back(has_alias);
  bytes_ += ChunkBytes(log2);
}

}  // namespace vramspan::replay
