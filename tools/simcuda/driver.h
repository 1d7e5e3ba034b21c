#ifndef VRAMSPAN_TOOLS_SIMCUDA_DRIVER_H_
#define VRAMSPAN_TOOLS_SIMCUDA_DRIVER_H_

// The process's one driver: configuration, devices, and the tables of handles. Made at first use
// and never destroyed, so that threads which outlive main() find it.

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tools/simcuda/config.h"
#include "tools/simcuda/context.h"
#include "tools/simcuda/device.h"
#include "tools/simcuda/event.h"
#include "tools/simcuda/handle_table.h"
#include "tools/simcuda/stream.h"

namespace simcuda {

class Driver {
 public:
  static Driver& Get();

  const Config& config() const { return config_; }
  bool initialized() const { return initialized_.load(std::memory_order_acquire); }
  // The process ends, and so has the driver: what was made before the first cuInit and is destroyed
  // behind it comes too late.
  bool gone() const { return gone_.load(std::memory_order_acquire); }
  // cuInit. A process forked from an initialised one stays uninitialised, as with the real driver.
  CUresult Initialize();

  int device_count() const { return static_cast<int>(devices_.size()); }
  bool peers_reach() const { return config_.peer_access; }
  // Null where there is no such device.
  Device* device(int ordinal) const;

  // Page-locked and VMM host memory.
  MemoryAccount& host_memory() { return host_memory_; }

  HandleTable<CUcontext, Context>& contexts() { return contexts_; }
  HandleTable<CUstream, Stream>& streams() { return streams_; }
  HandleTable<CUevent, Event>& events() { return events_; }

 private:
  Driver();

  const Config config_;
  std::vector<std::unique_ptr<Device>> devices_;
  MemoryAccount host_memory_;
  std::atomic<bool> initialized_{false};
  std::atomic<bool> forked_{false};
  std::atomic<bool> gone_{false};
  HandleTable<CUcontext, Context> contexts_;
  HandleTable<CUstream, Stream> streams_;
  HandleTable<CUevent, Event> events_;
};

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_DRIVER_H_
