// The mover's thread: asks the scheduler what to do, has it done, and sleeps where there is
// nothing.
//
// Threads: Start and Stop from one; the rest is the thread's own, but for what the lock guards.
#ifndef VRAMSPAN_RUNTIME_MOVER_MOVER_THREAD_H_
#define VRAMSPAN_RUNTIME_MOVER_MOVER_THREAD_H_

#include <chrono>
#include <optional>

#include "runtime/base/thread.h"
#include "runtime/memory/memory.h"
#include "runtime/mover/move_maker.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/mover/program_streams.h"
#include "runtime/mover/program_work.h"
#include "runtime/mover/recording.h"
#include "runtime/mover/showing.h"
#include "runtime/mover/signals.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/stalls.h"

namespace vramspan {

class MoverThread {
 public:
  struct Parts {
    Scheduler* scheduler;
    MoverAccounts* accounts;
    Signals* signals;
    ProgramStreams* streams;
    ProgramWork* work;
    MoveMaker* maker;
    Recording* recording;
    Showing* showing;  // Null: nobody looks on.
  };
  // All outlive it.
  MoverThread(Memory* memory, const Parts& parts)
      : memory_(*memory), parts_(parts), last_progress_(Clock::now()) {}

  // An error, naming the thread, where none can be made.
  Status Start() VS_EXCLUDES(memory_.mu);
  bool started() const { return thread_.joinable(); }
  // Ends when there is nothing to do.
  void Stop() VS_EXCLUDES(memory_.mu);
  // What held work waited for.
  const Stalls& stalls() const { return stalls_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Loop();
  // One look at everything, or a pause. True: the thread is to end.
  bool Turn(std::optional<ScopedContext>* current);
  // Each kRoomPeriod, where programs share the device among themselves.
  void LookForRoom() VS_EXCLUDES(memory_.mu);
  // After an exception nothing is begun any more, which might end in another; what is held goes on
  // with its memory where it is.
  void Rest(const char* why);
  bool Round();
  // Has the scheduler decide, and does that. Whether it was anything.
  bool Act();
  // Adds to MoverTimes.
  void Busy(Action::Kind with, Clock::time_point from, Clock::time_point to)
      VS_REQUIRES(memory_.mu);
  // Releases what it wants released; the rest is returned. `any` is set where there was any.
  Action Decide(bool* any) VS_REQUIRES(memory_.mu);
  // Puts the time since the last look on the account of what the head waits for.
  void AccountStall() VS_REQUIRES(memory_.mu);
  void Pause() VS_EXCLUDES(memory_.mu);
  void Changed() {
    if (parts_.showing != nullptr) parts_.showing->ChangeAwake();
  }
  // Something may be to do though nobody will say so.
  bool MustLook() VS_REQUIRES(memory_.mu);

  Memory& memory_;
  const Parts parts_;
  bool stop_ VS_GUARDED_BY(memory_.mu) = false;
  bool resting_ VS_GUARDED_BY(memory_.mu) = false;  // See Rest.
  Clock::time_point last_progress_, next_room_;
  // Since the last look at what the head waits for, which there was; or none is held. Time in calls
  // by then, and whether anything moved.
  Instant held_since_;
  uint64_t held_calls_ = 0;
  bool held_moves_ = false;
  Stalls stalls_;  // Under the memory lock.
  // The last action, whose time is counted at the next look, and since when it is performed.
  Action::Kind action_ = Action::Kind::kNothing;
  Clock::time_point performs_;
  Thread thread_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_MOVER_THREAD_H_
