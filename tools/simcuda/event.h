#ifndef VRAMSPAN_TOOLS_SIMCUDA_EVENT_H_
#define VRAMSPAN_TOOLS_SIMCUDA_EVENT_H_

// An event holds its latest record: a step of some stream, and when that step ran. Waits take the
// record that is there when they are submitted. Thread-safe.

#include <cuda.h>

#include <chrono>
#include <memory>

#include "tools/simcuda/mutex.h"
#include "tools/simcuda/progress.h"
#include "tools/simcuda/stream.h"

namespace simcuda {

namespace capture {
class EventMark;  // defined by capture.cc: the nodes that a captured record stands for
}

// One cuEventRecord. `time` is written by the worker before the ticket's step completes.
struct EventRecord {
  Ticket ticket;
  std::weak_ptr<Context> context;
  std::chrono::steady_clock::time_point time;
};

class Event {
 public:
  Event(ContextPtr context, unsigned flags) : context_(std::move(context)), flags_(flags) {}

  const ContextPtr& context() const { return context_; }
  unsigned flags() const { return flags_; }

  // The latest record in real work; null before the first one. Replaces a captured mark.
  std::shared_ptr<EventRecord> record() const;
  void set_record(std::shared_ptr<EventRecord> record);

  // The latest record, if that one was captured; null otherwise. Set by capture.cc only.
  std::shared_ptr<capture::EventMark> capture_mark() const;
  void set_capture_mark(std::shared_ptr<capture::EventMark> mark);

  // Puts a record into the stream, past capture: used by cuEventRecord and by graph nodes that
  // record.
  CUresult SubmitRecord(Stream& stream);
  // Makes the stream wait for the latest record, past capture. Nothing recorded: no wait.
  CUresult SubmitWait(Stream& stream);

 private:
  const ContextPtr context_;
  const unsigned flags_;
  mutable Mutex mutex_;
  std::shared_ptr<EventRecord> record_ SIMCUDA_GUARDED_BY(mutex_);
  std::shared_ptr<capture::EventMark> capture_mark_ SIMCUDA_GUARDED_BY(mutex_);
};
using EventPtr = std::shared_ptr<Event>;

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_EVENT_H_
