// The streams of a simulated device: each runs its work in order, once it is released and the
// device has it. What has ended is told when the mover looks.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_STREAMS_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_STREAMS_H_

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/scheduler/work_prints.h"
#include "tests/scheduler/simulation/model_memory.h"

namespace vramspan::simulation {

// Work that may be another's by now.
struct WorkName {
  SimWork* work = nullptr;
  uint64_t submission = 0;
};

class Streams {
 public:
  Streams(Common* common, ModelMemory* memory);

  SimWork* New();
  void Recycle(SimWork* work);
  static bool HasEnded(const WorkName& name) {
    return name.work == nullptr || name.work->submission != name.submission || name.work->ended;
  }

  // --- the program's calls ---
  void Push(SimWork* work);      // Its stream waits for it.
  void Enqueued(SimWork* work);  // The device has it.
  void Left(SimWork* work);      // Its thread has left the driver.
  void Cancel(SimWork* work);
  // Some kernel that runs is to wait for this, which the device has. Whether one does.
  bool MakeOneWaitFor(SimWork* work);

  // --- the device's ---
  void Released(SimWork* work);
  void EndFirst(const Event& event);
  void ContextDied();
  bool unknown_runs() const { return unknown_ != 0; }
  bool needs_all_mapped() const { return all_mapped_ != 0; }

  // --- the mover's ---
  void LookAt(uint32_t stream) { look_ |= uint64_t{1} << stream; }
  // Tells the scheduler what has ended and what has been reached.
  void Report();
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit);
  void NoteReleased(const SimWork& work, int by) {
    unknown_ += work.barrier() ? by : 0;
    all_mapped_ += work.all_mapped ? by : 0;
  }
  size_t under_way() const { return under_way_; }
  // Work from before it is recorded, of which so much was submitted.
  void Drains(size_t works);

 private:
  struct Stream {
    std::deque<SimWork*> works;
    size_t ended = 0;  // So many of them, the first.
    Instant last_seen;
    uint32_t generation = 0;  // Of the end that is to come.
  };

  void TryStart(uint32_t stream);
  void ScheduleEnd(uint32_t stream, Duration after);
  void End(uint32_t stream);
  void NoLongerAwaited(const SimWork& work);
  void ReportStream(uint32_t stream);
  void ReportEnd(Stream* s, SimWork* work);
  void ChoosePrints(SimWork* work);
  void TakePrints(SimWork* work);

  Common& common_;
  ModelMemory& memory_;
  std::optional<WorkPrints> prints_;  // Once there is work.
  std::vector<Stream> streams_;
  std::vector<std::unique_ptr<SimWork>> works_;
  std::vector<SimWork*> spare_;
  uint64_t next_id_ = 1;
  uint64_t look_ = 0;        // By stream: there may be news.
  WorkName spins_, target_;  // The first runs until the second has ended.
  size_t counted_ = 0;       // From before it is recorded.
  int unknown_ = 0;          // Released work that may touch anything,
  int all_mapped_ = 0;       // and such beside which all memory is mapped.
  size_t under_way_ = 0;
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_STREAMS_H_
