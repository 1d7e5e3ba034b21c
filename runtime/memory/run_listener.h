// Who is told of what happens to memory and work, as it happens: a recording. What it does must not
// wait for a driver call or for the mover: some of it is called under the memory lock.
#ifndef VRAMSPAN_RUNTIME_MEMORY_RUN_LISTENER_H_
#define VRAMSPAN_RUNTIME_MEMORY_RUN_LISTENER_H_

#include <absl/types/span.h>

#include <chrono>
#include <cstdint>

#include "runtime/base/units.h"

namespace vramspan {

class RunListener {
 public:
  virtual ~RunListener() = default;
  // A chunk changed sides; `clean`: nothing was copied.
  virtual void Moved(DevicePtr base, Bytes size, bool in, bool clean,
                     std::chrono::steady_clock::time_point began) = 0;
  // Work that was begun with `tag` starts as soon as its stream comes to it, with so much of its
  // memory on the host.
  virtual void Released(uint64_t tag, Bytes remote) = 0;
  // Memory of ours at an address of the program's own.
  virtual void Mapped(DevicePtr base, Bytes size) = 0;
  virtual void Unmapped(DevicePtr base) = 0;
  // Kernels of the listener's own that are to read these chunks, and have not begun, do not.
  // Whether any may be under way. Under the memory lock.
  virtual bool CallOffReads(absl::Span<const ChunkIndex> chunks) = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_RUN_LISTENER_H_
