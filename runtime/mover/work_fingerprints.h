// Fingerprints behind the program's work, of what it may write. They tell whether it was written:
// whatever leaves the device unwritten need not be copied.
//
// Threads: under the memory lock, but for Queue.
#ifndef VRAMSPAN_RUNTIME_MOVER_WORK_FINGERPRINTS_H_
#define VRAMSPAN_RUNTIME_MOVER_WORK_FINGERPRINTS_H_

#include <absl/types/span.h>

#include <memory>

#include "runtime/memory/memory.h"
#include "runtime/mover/stream_fingerprints.h"
#include "runtime/mover/stream_work.h"
#include "runtime/mover/streams.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/work_prints.h"

namespace vramspan {

class WorkFingerprints {
 public:
  // Both outlive it.
  WorkFingerprints(Memory* memory, Scheduler* scheduler)
      : memory_(*memory), scheduler_(*scheduler), which_(&memory->chunks(), &scheduler->queue()) {}

  // Before there is a thread that could wait for it: in a context in which a stream waits for the
  // host, loading a kernel may wait for that stream, and keeps all others from the driver
  // meanwhile. Without it none are taken.
  void Load();
  void Stop() { prints_.reset(); }

  // Puts fingerprints of what the work may write behind it, where they may save a copy.
  void Queue(StreamWork* work) VS_EXCLUDES(memory_.mu);
  // It is released: which of them are taken.
  void Ask(const StreamWork& work) VS_NO_THREAD_SAFETY_ANALYSIS;
  // It has finished. `dead`: or its context has, and none were taken.
  void Take(const StreamWork& work, bool dead) VS_NO_THREAD_SAFETY_ANALYSIS;
  // Those of the chunks that have not begun are not taken. Whether any may be under way.
  bool CallOff(const StreamWork& work, absl::Span<const ChunkIndex> chunks);
  // They tell who wrote what.
  bool follow_writers() const { return prints_ != nullptr && memory_.supply().host_used(); }

 private:
  // Finds which to queue. How many.
  size_t Choose(StreamWork* work, StreamFingerprints::Piece* pieces) VS_REQUIRES(memory_.mu);

  Memory& memory_;
  Scheduler& scheduler_;
  WorkPrints which_;  // Under the memory lock.
  // None where they cannot be taken in the program's streams. Made for good.
  std::unique_ptr<StreamFingerprints> prints_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_WORK_FINGERPRINTS_H_
