// Takes ranges apart whose chunks no work uses: what lies on the device stays mapped for the next
// allocation of its size (free_range_cache.h), the rest is unmapped and given back.
//
// Threads: any. Errors are the driver's; what it does not unmap is kept together and tried again.
#ifndef VRAMSPAN_RUNTIME_MEMORY_DISMANTLER_H_
#define VRAMSPAN_RUNTIME_MEMORY_DISMANTLER_H_

#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/memory/memory_state.h"
#include "runtime/memory/peers.h"
#include "runtime/memory/supply.h"

namespace vramspan {

class Dismantler {
 public:
  // All outlive it.
  Dismantler(MemoryState* state, Peers* peers, Supply* supply)
      : state_(*state), peers_(*peers), supply_(*supply) {}

  // Keeps the range mapped for the next of its size, or unmaps it and gives everything back; keeps
  // it as it is when it is busy or the driver refuses.
  Status TakeApart(ChunkRange range) VS_EXCLUDES(peers_.mapping_mu, state_.mu);
  // Unmaps a kept range and releases its slots, one of 2^log2 bytes among them where log2 is not 0;
  // false when there is none.
  StatusOr<bool> GiveUpKept(int log2) VS_EXCLUDES(peers_.mapping_mu, state_.mu);
  // Unmaps all kept ranges and releases their slots, when all ends.
  void GiveUpAll() VS_REQUIRES(state_.mu);

 private:
  // What backed it, where it was unmapped.
  StatusOr<std::vector<Backing>> Dismantle(ChunkRange range)
      VS_EXCLUDES(peers_.mapping_mu, state_.mu);
  // Unmaps what is mapped of the range, and notes that in `gone`.
  Status UnmapRange(ChunkRange* range) VS_EXCLUDES(state_.mu);
  void Keep(const ChunkRange& range) VS_REQUIRES(state_.mu);
  // It was found nowhere: now it is again.
  void PutBack(ChunkRange range) VS_REQUIRES(state_.mu);

  MemoryState& state_;
  Peers& peers_;
  Supply& supply_;
  Mutex give_up_mu_;  // One range at a time. Taken before Peers::mapping_mu.
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_DISMANTLER_H_
