// Addresses and memory that come apart, for what programs do with the driver's VMM calls: addresses
// without backing, and backing without addresses.
//
// Threads: any. Errors of detached memory: ResourceExhausted where neither device nor host has
// room; of ranges: InvalidArgument for what was not reserved, is mapped, or is not mapped.
#ifndef VRAMSPAN_RUNTIME_MEMORY_VMM_H_
#define VRAMSPAN_RUNTIME_MEMORY_VMM_H_

#include <vector>

#include "runtime/memory/freed_memory.h"
#include "runtime/memory/memory_state.h"
#include "runtime/memory/peers.h"
#include "runtime/memory/supply.h"

namespace vramspan {

class Vmm {
 public:
  // All outlive it.
  Vmm(MemoryState* state, Peers* peers, Supply* supply, FreedMemory* freed)
      : state_(*state), peers_(*peers), supply_(*supply), freed_(*freed) {}

  StatusOr<DevicePtr> Reserve(Bytes size, Bytes alignment) VS_EXCLUDES(state_.mu);
  Status Unreserve(DevicePtr base, Bytes size) VS_EXCLUDES(state_.mu);

  // Whole granules.
  StatusOr<DetachedMemory> MakeDetached(Bytes size) VS_EXCLUDES(state_.mu);
  // REQUIRES: not mapped.
  void ReleaseDetached(const DetachedMemory& detached) VS_EXCLUDES(state_.mu);
  // Copies its contents to [to, to + size). REQUIRES: nothing moves it.
  Status CopyDetached(const DetachedMemory& detached, DevicePtr to) VS_EXCLUDES(state_.mu);

  // An error changes nothing.
  Status MapDetached(const DetachedMemory& detached, DevicePtr at) {
    return MapAs(detached, at, /*pinned=*/false);
  }
  // Maps what MapDetached mapped at `first` at `at` as well; pinned there, as long as that is
  // mapped. REQUIRES: what is at `first` is pinned.
  Status MapAgain(DevicePtr first, DevicePtr at) VS_EXCLUDES(peers_.mapping_mu, state_.mu);
  // What was taken out is as it was, unless it was `unmapped`: then it is mapped again for
  // `to_whom`, the memory's accessors, where the driver lets that be.
  void PutBack(const Mappings::Taken& taken, bool unmapped, const Accessors& to_whom)
      VS_EXCLUDES(state_.mu);

 private:
  StatusOr<DetachedMemory> MakeOnce(const std::vector<int>& log2_sizes) VS_EXCLUDES(state_.mu);
  Status MapSlots(const DetachedMemory& detached, DevicePtr at)
      VS_REQUIRES_SHARED(peers_.mapping_mu) VS_EXCLUDES(state_.mu);
  Status MapAs(const DetachedMemory& detached, DevicePtr at, bool pinned)
      VS_EXCLUDES(peers_.mapping_mu, state_.mu);
  // An address by which its contents are read.
  StatusOr<DevicePtr> Alias(const Backing& backing);

  MemoryState& state_;
  Peers& peers_;
  Supply& supply_;
  FreedMemory& freed_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_VMM_H_
