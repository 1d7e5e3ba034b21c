// Which other devices may touch the memory. Every mapping names them, so a change goes through all
// that are mapped; what is mapped meanwhile knows of it already.
//
// Threads: any. Errors are the driver's.
#ifndef VRAMSPAN_RUNTIME_MEMORY_PEERS_H_
#define VRAMSPAN_RUNTIME_MEMORY_PEERS_H_

#include "runtime/base/mutex.h"
#include "runtime/memory/memory_state.h"
#include "runtime/memory/remap.h"

namespace vramspan {

class Peers {
 public:
  // `state` outlives it.
  explicit Peers(MemoryState* state) : state_(*state), accessors_(state->options().ordinal) {}

  // Whether another device may touch the memory from here on, what is allocated later as well.
  // Where allowing it fails it may not; where taking it back fails it may still touch some. It may
  // be called while memory moves.
  Status Set(int device, bool allowed) VS_EXCLUDES(mapping_mu, state_.mu);
  // The same for what the driver lets it touch, for good: what lies on the host, where the devices
  // do not reach each other.
  void AddWherePossible(int device) VS_EXCLUDES(mapping_mu, state_.mu);

  // Who maps memory, or unmaps it, holds this shared from before it asks who may touch it until the
  // chunk tells what came of it; who changes that holds it alone. Taken before the memory lock.
  SharedMutex mapping_mu;
  const Accessors& accessors() const VS_REQUIRES_SHARED(mapping_mu) { return accessors_; }
  // Not everything mapped has the access yet that accessors() tells.
  bool changing() const VS_REQUIRES_SHARED(mapping_mu) { return changing_; }

 private:
  // Of a peer, wherever something is mapped; the first error.
  Status SetAccessOfAll(int device, CUmemAccess_flags flags) VS_REQUIRES(one_)
      VS_EXCLUDES(mapping_mu, state_.mu);

  MemoryState& state_;
  Mutex one_;  // One change at a time. Taken before mapping_mu.
  Accessors accessors_ VS_GUARDED_BY(mapping_mu);
  bool changing_ VS_GUARDED_BY(mapping_mu) = false;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_PEERS_H_
