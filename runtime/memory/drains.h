// Waiting for all work of a context, streams that are not known included, the way cuMemFree does.
//
// Threads: any. Errors are the driver's.
#ifndef VRAMSPAN_RUNTIME_MEMORY_DRAINS_H_
#define VRAMSPAN_RUNTIME_MEMORY_DRAINS_H_

#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/memory/memory_state.h"

namespace vramspan {

// Waits for all work of the context, in streams that are not known, too; captures survive it.
// `left`: set to memory that could not be freed again.
Status DrainContext(const Driver& driver, CUcontext context, CUdeviceptr* left);

class Drains {
 public:
  // `state` outlives it.
  explicit Drains(MemoryState* state) : state_(*state) {}
  Status Open();
  // Frees what it has. REQUIRES: the context is current, and nothing is called any more.
  void Close() VS_REQUIRES(state_.mu);

  // Waits for all of the memory's context.
  Status Drain() VS_EXCLUDES(state_.mu);
  // 256 bytes of the driver's own memory, allocated in the context as any program does it.
  CUdeviceptr plain() const { return keeper_; }

 private:
  MemoryState& state_;
  CUdeviceptr keeper_ = 0;  // Keeps the driver's small-object page alive: drains stay cheap.
  // Allocated to drain, and not freed for a failure.
  std::vector<CUdeviceptr> left_ VS_GUARDED_BY(state_.mu);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_DRAINS_H_
