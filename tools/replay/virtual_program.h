// The program's thread in virtual time: it takes its recorded steps, as long after each other and
// after what it waited for as it did (timing.h).
#ifndef VRAMSPAN_TOOLS_REPLAY_VIRTUAL_PROGRAM_H_
#define VRAMSPAN_TOOLS_REPLAY_VIRTUAL_PROGRAM_H_

#include <absl/functional/function_ref.h>

#include <cstdint>
#include <vector>

#include "tools/replay/chunked_run.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/timing.h"

namespace vramspan::replay {

class VirtualProgram {
 public:
  // All outlive it. `ends`: when work ended, by work; kNever: it has not.
  VirtualProgram(const RecordedRun* run, const Timing* timing, const std::vector<uint64_t>* ends)
      : run_(*run), timing_(*timing), ends_(*ends) {}

  bool done() const { return step_ == run_.steps.size(); }
  // The step that is to be taken by now; null: there is none, or it waits. `recorded`: work is
  // recorded, which takes as long as it did.
  const RecordedStep* Next(uint64_t now, bool recorded);
  // Calls `say` with the chunks that lie whole in what it gave up behind the last step, and with
  // those of which any part was handed out again.
  void GiveUp(const ChunkedRun& chunks,
              absl::FunctionRef<void(ChunkIndex, RecordedDiscard::Kind)> say);
  // It cannot be taken yet, for want of something that an event will bring.
  void Wait() { waits_ = true; }
  // It was taken, and kept the thread for so long.
  void Took(uint64_t now, uint64_t nanoseconds);
  // When the next step is due; kNever: it waits for an event.
  uint64_t NextEvent() const { return timed_ && !waits_ ? next_ : kNever; }
  uint64_t time() const { return time_; }  // When the last was done.

 private:
  const RecordedRun& run_;
  const Timing& timing_;
  const std::vector<uint64_t>& ends_;
  size_t step_ = 0;
  size_t discards_ = 0;  // That were told.
  uint64_t time_ = 0;
  uint64_t next_ = 0;
  bool timed_ = false;  // next_ holds for the next step.
  bool waits_ = false;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_VIRTUAL_PROGRAM_H_
