// Packed objects: many in a chunk, which counts the work of all of them. One that is freed while
// work may use the chunk stays until the context has been drained.
//
// Threads: any. Its lock is taken before all others of the memory, never after them.
#ifndef VRAMSPAN_RUNTIME_MEMORY_SMALL_MEMORY_H_
#define VRAMSPAN_RUNTIME_MEMORY_SMALL_MEMORY_H_

#include <absl/container/flat_hash_set.h>

#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/memory/dismantler.h"
#include "runtime/memory/memory_state.h"
#include "runtime/memory/placing.h"
#include "runtime/space/small_objects.h"

namespace vramspan {

class SmallMemory {
 public:
  // All outlive it. Its chunks come from `placing` and go by `dismantler`.
  SmallMemory(MemoryState* state, Placing* placing, Dismantler* dismantler);
  // Gives back every chunk, whatever lives in it. Nothing is called any more.
  void Close() VS_EXCLUDES(mu_, state_.mu);

  // What it takes is known with it. Errors are those of Placing.
  StatusOr<SmallObjects::Object> Allocate(Bytes size) VS_EXCLUDES(mu_, state_.mu);
  // The live object that holds `p`, or NotFound. REQUIRES: `p` lies in a chunk of packed objects.
  StatusOr<SmallObjects::Object> Find(DevicePtr p) VS_EXCLUDES(mu_, state_.mu);
  // `chunk`: a copy of the one that `p` lies in. Whether so many wait that it is time to drain;
  // InvalidArgument for what is not the start of a live object.
  // `idle`: as of FreedMemory.
  StatusOr<bool> Free(DevicePtr p, const Chunk& chunk, bool idle) VS_EXCLUDES(mu_, state_.mu);

  // --- objects that wait for a drain ---
  bool any_quarantined() VS_EXCLUDES(mu_);
  std::vector<uint64_t> Quarantined() VS_EXCLUDES(mu_);
  // The context has been drained since `objects` waited: they end. The first error.
  Status Release(const std::vector<uint64_t>& objects) VS_EXCLUDES(mu_, state_.mu);

  // Gives back the empty chunk that is kept; whether there was one.
  bool Trim() VS_EXCLUDES(mu_, state_.mu);
  // What its chunks take.
  Bytes charged() VS_EXCLUDES(mu_);

 private:
  MemoryState& state_;
  Mutex mu_;
  std::unique_ptr<SmallObjects> objects_ VS_PT_GUARDED_BY(mu_);
  absl::flat_hash_set<uint64_t> quarantine_ VS_GUARDED_BY(mu_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_SMALL_MEMORY_H_
