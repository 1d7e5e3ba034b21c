// The streams of a recorded program in virtual time, each first come first served.
#ifndef VRAMSPAN_TOOLS_REPLAY_VIRTUAL_STREAMS_H_
#define VRAMSPAN_TOOLS_REPLAY_VIRTUAL_STREAMS_H_

#include <absl/functional/function_ref.h>

#include <deque>
#include <vector>

#include "tools/replay/active_work.h"
#include "tools/replay/recorded_run.h"
#include "tools/replay/timing.h"

namespace vramspan::replay {

class VirtualStreams {
 public:
  // All outlive it.
  VirtualStreams(const RecordedRun* run, const Timing* timing, RunRecorder* recorder);

  // How things stand when work may start.
  struct Now {
    uint64_t time = 0;
    Stalls stalls;      // Of all work.
    uint64_t pass = 0;  // What work that was held needs from its release to its start,
    uint64_t mark = 0;  // and all work for the mark behind it.
  };
  // As new, with the recorded work's number and nothing else.
  ActiveWork* New(uint32_t work);
  // It is the last of its stream from here on.
  void Push(ActiveWork* a);
  // Starts the first of its stream, where that may.
  void Start(const ActiveWork& a, const Now& now) { Start(StreamOf(a), now); }
  // Calls `ended` with what has ended by now, then starts what may follow.
  void End(const Now& now, absl::FunctionRef<void(ActiveWork*)> ended);
  uint64_t NextEnd() const;  // kNever for none.

  // --- kernels of other programs ---
  // From `now` on kernels get so much of the device's time. REQUIRES: what ends by now has.
  void SetShare(uint64_t now, double share);
  bool Computes(uint64_t now) const;       // A kernel runs.
  uint64_t NextStart(uint64_t now) const;  // Of one that does not yet; kNever for none.

  // Nobody knows it any more.
  void Recycle(ActiveWork* a) {
    spare_.push_back(a);
    --active_;
  }

  uint32_t active() const { return active_; }                  // Submitted and not recycled.
  const std::vector<uint64_t>& ends() const { return ends_; }  // By work; kNever: has not ended.
  uint64_t last_end() const { return last_end_; }
  // When the mover last saw work of the stream end.
  Instant& last_seen(const ActiveWork& a) { return StreamOf(a)->last_seen; }
  void ForEachRunning(absl::FunctionRef<void(const Work&)> visit) const;

 private:
  struct Stream {
    std::deque<ActiveWork*> works;  // Not ended, in order.
    uint64_t last_end = 0;
    Stalls last_end_at;
    Instant last_seen;
    bool waits = false;  // Its first work waits for work of another stream.
  };
  struct Running {
    uint64_t time;
    uint64_t order;
    ActiveWork* work;
    bool kernel;     // It gets a share of the device's time.
    uint64_t since;  // From here on
    double left;     // it needs so much of that.
    bool operator>(const Running& o) const {
      return time != o.time ? time > o.time : order > o.order;
    }
  };

  Stream* StreamOf(const ActiveWork& a) { return &streams_[run_.works[a.work].stream]; }
  void Start(Stream* stream, const Now& now);
  // When the first of the stream could start. False: it waits for work that has not ended.
  bool FindReady(Stream* stream, ActiveWork* a, const Now& now);
  void Record(ActiveWork* a, uint64_t unheld);

  const RecordedRun& run_;
  const Timing& timing_;
  RunRecorder& recorder_;
  std::vector<Stream> streams_;
  uint32_t waiting_ = 0;  // Streams.
  std::vector<uint64_t> ends_;
  std::vector<Running> running_;  // A heap: what ends first is in front.
  double share_ = 1;
  uint64_t order_ = 0;
  std::deque<ActiveWork> works_;
  std::vector<ActiveWork*> spare_;
  uint32_t active_ = 0;
  uint64_t last_end_ = 0;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_VIRTUAL_STREAMS_H_
