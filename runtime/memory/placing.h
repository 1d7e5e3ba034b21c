// Places new chunks: in a freed range that was kept, where one of the size is, else at new
// addresses with slots of their own.
//
// Threads: any. Errors: ResourceExhausted where there are no addresses, no slots or no entries for
// chunks, and the driver's. After an error nothing is left.
#ifndef VRAMSPAN_RUNTIME_MEMORY_PLACING_H_
#define VRAMSPAN_RUNTIME_MEMORY_PLACING_H_

#include <optional>
#include <vector>

#include "runtime/memory/memory_state.h"
#include "runtime/memory/peers.h"
#include "runtime/memory/supply.h"

namespace vramspan {

class Placing {
 public:
  // All outlive it.
  Placing(MemoryState* state, Peers* peers, Supply* supply)
      : state_(*state), peers_(*peers), supply_(*supply) {}

  // Addresses and backing for chunks of these sizes; `allocation` describes them, none for chunks
  // of packed objects.
  StatusOr<DevicePtr> Place(const std::vector<int>& log2_sizes, const Allocation* allocation)
      VS_EXCLUDES(peers_.mapping_mu, state_.mu);

 private:
  struct Mapped {  // A range with what backs it, not known to the page map yet.
    DevicePtr base;
    Bytes size;
    Bytes mapped;  // From the base; less than the size where something failed.
    std::vector<Backing> backing;
  };
  std::optional<Mapped> TakeKept(Bytes size, int first_log2) VS_EXCLUDES(state_.mu);
  // Without access. Of this, Publish and Unmap the context is the caller's to make current: one for
  // all of them, so that what could be mapped can be unmapped.
  StatusOr<Mapped> MapNew(Bytes total, const std::vector<int>& log2_sizes) VS_EXCLUDES(state_.mu);
  // Gives access and makes its chunks.
  Status Publish(const Mapped& mapped, const Allocation* allocation)
      VS_EXCLUDES(peers_.mapping_mu, state_.mu);
  // Makes its chunks. An error changes nothing.
  Status Register(const Mapped& mapped, const Allocation* allocation) VS_EXCLUDES(state_.mu);
  void Unmap(const Mapped& mapped) VS_EXCLUDES(state_.mu);

  MemoryState& state_;
  Peers& peers_;
  Supply& supply_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_PLACING_H_
