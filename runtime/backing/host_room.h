// Watches that pinning goes on only while the machine has room. A budget is fixed when the program
// starts, but others fill the machine later, and pinned memory cannot be swapped out for them:
// where it runs out, the kernel kills processes.
//
// Threads: all calls are safe.
#ifndef VRAMSPAN_RUNTIME_BACKING_HOST_ROOM_H_
#define VRAMSPAN_RUNTIME_BACKING_HOST_ROOM_H_

#include <string>

#include "runtime/backing/host_limits.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

// What may be pinned by this reading: what the machine and its cgroups leave, less the floor.
Bytes RoomToPin(const HostLimits& limits);

class HostRoom {
 public:
  // `root` as in ReadHostLimits.
  explicit HostRoom(std::string root) : root_(std::move(root)) {}

  // To be asked before `size` more bytes are pinned. ResourceExhausted, naming what is left and
  // which limit it is, when that would leave less than the floor. The limits are read again after
  // every 256 MiB, and on each call while they are short.
  Status Take(Bytes size);

 private:
  Status Read() VS_REQUIRES(mutex_);

  const std::string root_;
  Mutex mutex_;
  // What may still be pinned by the latest reading, and until the next one.
  Bytes room_ VS_GUARDED_BY(mutex_);
  Bytes credit_ VS_GUARDED_BY(mutex_);
  std::string limit_ VS_GUARDED_BY(mutex_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_HOST_ROOM_H_
