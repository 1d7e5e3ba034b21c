// How long work takes on the device: an event before it and one behind it, looked at by a thread of
// its own once the work is done. Two events cost a launch about 3 microseconds of the calling
// thread's time, and the device next to nothing.
//
// Threads: any, for Before and Behind; results come on the timer's thread.
#ifndef VRAMSPAN_RUNTIME_API_WORK_TIMER_H_
#define VRAMSPAN_RUNTIME_API_WORK_TIMER_H_

#include <absl/container/flat_hash_map.h>
#include <cuda.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/driver/driver.h"

namespace vramspan {

class WorkTimer {
 public:
  using Clock = std::chrono::steady_clock;
  // When work ran, by the host's clock: the device's is tied to it when the timer starts, and
  // carried on from event to event.
  using Result = std::function<void(uint64_t id, Clock::time_point start, Clock::duration took)>;
  // Nothing will be told of this work: it has ended, or its context has died.
  using Lost = std::function<void(uint64_t id)>;

  // The context outlives the timer.
  static StatusOr<std::unique_ptr<WorkTimer>> Start(std::shared_ptr<const Driver> driver,
                                                    CUcontext context, Result result, Lost lost);
  ~WorkTimer();
  // Tells of what has ended by now, or does so at once; the rest, and what comes later, is not
  // measured. Once.
  void Stop();
  WorkTimer(const WorkTimer&) = delete;
  WorkTimer& operator=(const WorkTimer&) = delete;

  // Puts the first event into the stream. Null: this work is not measured, since too much is under
  // way or the driver refused.
  CUevent Before(CUstream stream);
  // And the second. REQUIRES: `before` came from Before(stream), and is given up. False: there is
  // none, and nothing will be told of this work, which may be under way.
  bool Behind(CUevent before, CUstream stream, uint64_t id);
  // Or there is none, after all.
  void Forget(CUevent before) { GiveBack(before); }

 private:
  struct Measured {
    uint64_t id = 0;
    CUstream stream = nullptr;
    CUevent start = nullptr, end = nullptr;
  };

  WorkTimer() = default;
  CUevent TakeEvent();
  void GiveBack(CUevent event);
  void Loop();
  // The thread has ended before its time: nothing more is measured.
  void Failed();
  void Look();
  void Tell(const Measured& m);

  std::shared_ptr<const Driver> driver_;
  CUcontext context_ = nullptr;
  Result result_;
  Lost lost_;

  Mutex mu_;
  CondVar wake_;
  std::vector<CUevent> spare_ VS_GUARDED_BY(mu_);
  std::vector<Measured> queued_ VS_GUARDED_BY(mu_);
  size_t events_ VS_GUARDED_BY(mu_) = 0;  // Made so far.
  bool stop_ VS_GUARDED_BY(mu_) = false;

  // The thread's: what is under way, by stream. What is behind other work of its stream is not
  // asked for before that has ended: questions keep the program's threads from the driver.
  absl::flat_hash_map<CUstream, std::deque<Measured>> under_way_;
  // An event of which it is known when it was.
  CUevent base_ = nullptr;
  Clock::time_point base_time_;
  Thread thread_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_WORK_TIMER_H_
