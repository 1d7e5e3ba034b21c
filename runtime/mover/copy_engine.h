// The copies of moves, in a context of the mover's own: streams share hardware queues, so in the
// program's context a parked stream could hold a copy back for ever (measured); another context is
// immune and sees every mapping.
//
// Copies to the device are queued ahead, asynchronously. Copies to the host go out one piece at a
// time from a thread of their own: while such a copy is running, page table updates (set-access)
// wait up to a millisecond for the copy engine's time slice, unless the engine falls idle between
// pieces (docs/findings/0001-page-tables-beside-copies.md). Where no such thread is to be had the
// mover's own waits for each of them.
//
// Threads: Start* and Poll by one thread, the mover's.
#ifndef VRAMSPAN_RUNTIME_MOVER_COPY_ENGINE_H_
#define VRAMSPAN_RUNTIME_MOVER_COPY_ENGINE_H_

#include <atomic>
#include <memory>
#include <optional>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"
#include "runtime/mover/fingerprinter.h"

namespace vramspan {

class CopyEngine {
 public:
  // With `own_context` a new context on the device of `context`; else streams in `context` itself.
  static StatusOr<std::unique_ptr<CopyEngine>> Create(std::shared_ptr<const Driver> driver,
                                                      CUcontext context, int ordinal,
                                                      bool own_context);
  virtual ~CopyEngine() = default;  // Waits for copies under way.

  // A copy under way. Done() turns true once, after which status says how it went.
  struct Copy {
    std::atomic<bool> done{false};
    Status status;
    // Of a copy in: what has come, where it could be told.
    std::optional<Fingerprint> print;
    // Of a copy out: `to` held the same already, so nothing was copied.
    bool equal = false;
  };

  // `copy` must live until it is done. Never waits. A failure to start is reported through `copy`.
  // `print`: take a fingerprint of what has come. A kernel of ours takes turns with the program's
  // streams, also with those that wait for their memory: a millisecond and more (measured), for
  // which all copies behind it wait.
  virtual void StartIn(DevicePtr to, DevicePtr from, Bytes size, bool print, Copy* copy) = 0;
  // `expected`: what `to` holds. If `from` has the same fingerprint nothing is copied.
  virtual void StartOut(DevicePtr to, DevicePtr from, Bytes size,
                        const std::optional<Fingerprint>& expected, Copy* copy) = 0;
  // Marks finished copies to the device as done. Copies to the host mark themselves.
  virtual void Poll() = 0;

  virtual uint64_t in_nanoseconds() const = 0;  // With a copy to the device under way.
  virtual uint64_t out_nanoseconds() const = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_COPY_ENGINE_H_
