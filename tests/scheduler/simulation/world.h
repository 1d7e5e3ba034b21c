// A world made from a seed: a program, its device and what goes wrong, around one scheduler. Every
// invariant is checked after every event.
//
// First the program runs for so many events. Then all faults end, and everything must come to its
// end: what is held, what moves, and what waits for a mapping.
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_WORLD_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_WORLD_H_

#include <memory>
#include <string>

#include "tests/scheduler/simulation/threads.h"

namespace vramspan::simulation {

class World final : SchedulerOwner {
 public:
  // `sink`: is told of all that its scheduler is told; null: nobody.
  explicit World(const WorldOptions& options, EventSink* sink = nullptr);

  // Once. Whether all invariants held.
  bool Run();
  // Otherwise: which did not.
  const std::string& failure() const { return common_.verdict.what(); }
  uint64_t events() const { return common_.events; }
  uint64_t log() const { return common_.log; }
  uint64_t lies() const { return common_.lies; }
  size_t most_held() const { return most_held_; }
  const Mover& mover() const { return mover_; }
  Scheduler& scheduler() { return scheduler_; }

 private:
  void DropHostCopy(ChunkIndex chunk) override;
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) override {
    streams_.ForEachRunning(visit);
  }

  void Step();
  void Happens(const Event& event);
  void Outside();
  void CheckHead();
  void CheckQueue();
  std::string Describe(const SimWork& work);
  void Drain();
  void CheckEnd();

  Common common_;
  const std::unique_ptr<ToldPolicy> policy_;
  ModelMemory memory_;
  Scheduler scheduler_;
  Streams streams_;
  Mover mover_;
  Program program_;
  Threads threads_;
  const Work* head_ = nullptr;  // The first that is held,
  uint64_t head_submission_ = 0;
  Instant head_until_;  // and when it has to have gone.
  Duration head_slow_{0};
  Duration longest_{0};  // That any work took.
  size_t most_held_ = 0;
  uint32_t still_ = 0;  // So many events at one time.
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_WORLD_H_
