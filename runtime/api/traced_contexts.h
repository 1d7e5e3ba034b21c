// Which runtime a call of the program belongs to: the one whose context is current in it.
//
// Threads: any. One at a time adds or removes (Tracing).
#ifndef VRAMSPAN_RUNTIME_API_TRACED_CONTEXTS_H_
#define VRAMSPAN_RUNTIME_API_TRACED_CONTEXTS_H_

#include <array>
#include <atomic>

#include "runtime/api/tracer.h"
#include "runtime/base/own_process.h"
#include "runtime/base/presence.h"

namespace vramspan {

class TracedContexts {
 public:
  static constexpr size_t kMost = 16;

  // A tracer ends when none of those is inside who may have read the pointer.
  struct Entry {
    std::atomic<CUcontext> context{nullptr};
    std::atomic<Tracer*> tracer{nullptr};
    std::atomic<Tracer*> kept{nullptr};  // The same, until nobody uses it any more.
    Presence inside;
  };

  constexpr TracedContexts() = default;
  // Never made and never taken apart: calls may come until the process is gone.
  static TracedContexts& Get();

  std::array<Entry, kMost>& entries() { return entries_; }
  Entry* EntryOf(CUcontext context) {
    for (Entry& e : entries_) {
      if (e.context.load(std::memory_order_acquire) == context) return &e;
    }
    return nullptr;
  }
  // How many are in use.
  size_t count() const { return count_.load(std::memory_order_relaxed); }

  // False: all entries are in use.
  bool Add(CUcontext context, Tracer* tracer);
  // No call that begins from here on uses the tracer. Its entry while others may; else null. `was`:
  // it was in use until here.
  Entry* Close(Tracer* tracer, bool* was);

  // The launch source is this process's. A child of fork sees nothing.
  void StartHere() { started_in_.store(OwnProcess::This(), std::memory_order_relaxed); }
  bool Here() const { return started_in_.load(std::memory_order_relaxed).Here(); }
  // It was started by the parent of this process.
  bool Inherited() const;

 private:
  std::array<Entry, kMost> entries_;
  std::atomic<size_t> count_{0};
  std::atomic<OwnProcess> started_in_{OwnProcess()};
};

inline constinit TracedContexts traced_contexts;
inline TracedContexts& TracedContexts::Get() { return traced_contexts; }

// The calling thread uses the tracer of an entry, if it has one.
class UseOfTracer {
 public:
  using Entry = TracedContexts::Entry;

  explicit UseOfTracer(Entry& entry) : entry_(&entry), side_(entry.inside.Enter()) {
    tracer_ = entry.tracer.load(std::memory_order_acquire);
  }
  ~UseOfTracer() {
    if (entry_ != nullptr) entry_->inside.Leave(side_);
  }
  UseOfTracer(const UseOfTracer&) = delete;
  UseOfTracer& operator=(const UseOfTracer&) = delete;

  Tracer* tracer() const { return tracer_; }
  // It goes on: whoever gets the side lets go of the tracer.
  Presence::Side Keep() {
    entry_ = nullptr;
    return side_;
  }

 private:
  Entry* entry_;
  const Presence::Side side_;
  Tracer* tracer_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_API_TRACED_CONTEXTS_H_
