// The queue as the planner is shown it: what is released, then what is held, then what is expected.
//
// Kept from plan to plan as work comes and goes, together with what that changed since the planner
// was last shown it, so that neither is proportional to the queue. Chunks are the caller's, and
// stay as they are while the work is in here.
#ifndef VRAMSPAN_RUNTIME_SCHEDULER_PLANNED_QUEUE_H_
#define VRAMSPAN_RUNTIME_SCHEDULER_PLANNED_QUEUE_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <cstdint>
#include <vector>

#include "runtime/placement/types.h"

namespace vramspan {

class PlannedQueue {
 public:
  absl::Span<const QueuedWork> works() const { return absl::MakeConstSpan(works_).subspan(begin_); }
  uint32_t released() const { return released_; }
  uint32_t expected() const {
    return static_cast<uint32_t>(works_.size() - begin_) - released_ - held_;
  }

  // Nothing is released or held any more. What is expected still is.
  void Restart();
  // How work that comes stands to what is expected.
  enum class Comes : uint8_t {
    kExpected,    // It is the first of it.
    kBeside,      // It says nothing of it: what was expected still is, behind it.
    kUnexpected,  // None of it is expected any more.
  };
  // Work that comes last of what is released, or held. REQUIRES: nothing is held, for what is
  // released.
  void Submit(const QueuedWork& work, bool released, Comes comes);
  // The same of work that is left out, and comes with the next Restart.
  void LeaveOut(Comes comes);
  // The first that is held. REQUIRES: there is one.
  void Release();
  // The first that is released. False, and nothing is done, if that is another.
  bool Finish(uint64_t id);
  void Expect(const QueuedWork& work);
  // What is expected by that id wants these chunks now.
  void Rename(uint64_t id, absl::Span<const ChunkIndex> chunks, uint64_t version);
  // Works take as long now as `duration` says.
  void Retime(absl::FunctionRef<uint64_t(const QueuedWork& work)> duration);
  // Keeps the first so many of what is expected.
  void KeepExpected(uint32_t count);

  // Fills in the queue, what is released of it, and what has changed since the last call. REQUIRES:
  // a plan is made of it, by the same planner every time.
  void Tell(PlanRequest* request);

 private:
  // From there on so many works have made way for others.
  void Changed(size_t from, size_t left, size_t came);
  // What has gone from the front takes along what it was in front of.
  void JoinGone();

  std::vector<QueuedWork> works_;  // From begin_ on.
  size_t begin_ = 0;
  uint32_t released_ = 0, held_ = 0;
  // Since the last Tell: whether anything changed. Of what was told so many works have gone from
  // the front, are the same, have made way for so many others (`split_`, or none did), and are the
  // same behind them.
  bool changed_ = true, split_ = false;
  size_t gone_ = 0, same_ = 0, left_ = 0, came_ = 0, tail_ = 0;
  uint64_t version_ = 0;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_SCHEDULER_PLANNED_QUEUE_H_
