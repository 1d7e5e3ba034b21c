// The threads of a simulated program: what each does next, and what it waits for, as the runtime's
// mover makes it wait (runtime/mover/work_scopes.cc).
#ifndef VRAMSPAN_TESTS_SCHEDULER_SIMULATION_THREADS_H_
#define VRAMSPAN_TESTS_SCHEDULER_SIMULATION_THREADS_H_

#include <vector>

#include "tests/scheduler/simulation/mover.h"
#include "tests/scheduler/simulation/program.h"

namespace vramspan::simulation {

class Threads {
 public:
  Threads(Common* common, ModelMemory* memory, Streams* streams, Mover* mover, Program* program);

  void GoesOn(const Event& event);
  // Those that wait look whether they still must.
  void Poll();
  // No new steps. Whether all have come to an end.
  void Stop() { stops_ = true; }
  bool done() const { return done_ == threads_.size(); }
  // Work from before it is recorded.
  void SubmitCounted();
  bool InHand(ChunkIndex c) const;

 private:
  enum class Stage : uint8_t {
    kThinks,
    kRoom,      // Too much is held.
    kMappings,  // What it hands to the driver is not mapped, or about to change.
    kReleased,  // It holds the launch back itself, for its context is shared.
    kDriver,    // Inside the call that submits.
    kWork,      // Waits for its last work,
    kPinned,    // or for a pin.
    kBeginQuery,
    kQuery,
    kBeginForeign,
    kForeign,
    kDone,
  };
  struct Thread {
    Stage stage = Stage::kThinks;
    SimWork* work = nullptr;
    WorkName waits;        // Inside the driver or out of it.
    bool late = false;     // The device gets the work only when the call is over.
    bool returns = false;  // The call would be over, but for what it waits for.
    bool cancels = false;
    bool locks = false;  // Others that enter the driver wait meanwhile.
    Instant since;
    std::vector<ChunkIndex> pinned;
    WorkName last;
  };

  void Begin(uint32_t t);
  void Think(uint32_t t);
  // As the runtime's WorkPool does, before anybody is told of the work.
  void LeaveOutUntouched(SimWork* work) const;
  bool TryGo(uint32_t t);  // Whether a waiting thread went on.
  void Submit(uint32_t t);
  void Captured(uint32_t t);
  void EnterDriver(uint32_t t);
  bool MayReturn(uint32_t t) const;
  void Return(uint32_t t);
  void Cancel(uint32_t t);
  void SetInSubmission(SimWork* work, bool in_submission);
  void BeginForeign(uint32_t t);
  void BeginQuery(uint32_t t);
  void GiveUp(uint32_t t);
  void WaitAs(uint32_t t, Stage stage);
  void Unpin(Thread* thread);
  void After(uint32_t t, Duration at_most) {
    common_.heap.Add(common_.now + common_.random.Between(Duration(500), at_most),
                     Event::Kind::kThread, t);
  }

  Common& common_;
  ModelMemory& memory_;
  Streams& streams_;
  Mover& mover_;
  Program& program_;
  std::vector<Thread> threads_;
  uint32_t waiting_ = 0;  // By thread.
  uint32_t locked_by_ = ~0u;
  size_t done_ = 0;
  bool stops_ = false;
};

}  // namespace vramspan::simulation

#endif  // VRAMSPAN_TESTS_SCHEDULER_SIMULATION_THREADS_H_
