// The memory of one device: addresses, chunks, and the pools that back them. It places new
// allocations and takes freed ones apart; it never moves anything.
//
// The parts are in files of their own. What there is: memory_state.h. How it comes: placing.h,
// supply.h and small_memory.h. How it goes: freed_memory.h, dismantler.h and drains.h. Who may
// touch it: peers.h. What programs do with the driver's VMM calls: vmm.h.
//
// Threads: every function may be called from any thread; those that need `mu` say so.
#ifndef VRAMSPAN_RUNTIME_MEMORY_MEMORY_H_
#define VRAMSPAN_RUNTIME_MEMORY_MEMORY_H_

#include <memory>

#include "runtime/memory/dismantler.h"
#include "runtime/memory/drains.h"
#include "runtime/memory/freed_memory.h"
#include "runtime/memory/memory_state.h"
#include "runtime/memory/peers.h"
#include "runtime/memory/placing.h"
#include "runtime/memory/small_memory.h"
#include "runtime/memory/supply.h"
#include "runtime/memory/vmm.h"

namespace vramspan {

class Memory final : public MemoryState {
 public:
  static StatusOr<std::unique_ptr<Memory>> Create(std::shared_ptr<const Driver> driver,
                                                  const MemoryOptions& options,
                                                  std::unique_ptr<EvictionPolicy> policy);
  // Takes everything apart. REQUIRES: no GPU work uses it, nothing is moving.
  ~Memory();

  StatusOr<DevicePtr> Allocate(Bytes size) VS_EXCLUDES(mu);
  Status Free(DevicePtr base, bool idle = false) VS_EXCLUDES(mu) { return freed_.Free(base, idle); }
  // The live allocation that holds `p`; its id is 0 for a packed object.
  StatusOr<Allocation> Find(DevicePtr p) VS_EXCLUDES(mu);
  MemoryCounts counts() VS_EXCLUDES(mu);

  Peers& peers() { return peers_; }
  Supply& supply() { return supply_; }
  const Supply& supply() const { return supply_; }
  Drains& drains() { return drains_; }
  FreedMemory& freed() { return freed_; }
  Vmm& vmm() { return vmm_; }

 private:
  Memory(std::shared_ptr<const Driver> driver, const MemoryOptions& options,
         std::unique_ptr<EvictionPolicy> policy);

  StatusOr<DevicePtr> AllocateOnce(Bytes size) VS_EXCLUDES(mu);
  // The sizes of the chunks of an allocation with chunks of its own.
  std::vector<int> ChunkSizes(Bytes size);

  Peers peers_;
  Supply supply_;
  Placing placing_;
  Dismantler dismantler_;
  SmallMemory small_;
  Drains drains_;
  FreedMemory freed_;
  Vmm vmm_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_MEMORY_H_
