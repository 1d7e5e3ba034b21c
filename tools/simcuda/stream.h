#ifndef VRAMSPAN_TOOLS_SIMCUDA_STREAM_H_
#define VRAMSPAN_TOOLS_SIMCUDA_STREAM_H_

// A stream: ops that run in the order of submission. It is bound for life to one hardware queue of
// its context and shares it with other streams. Thread-safe.

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "tools/simcuda/mutex.h"
#include "tools/simcuda/op.h"
#include "tools/simcuda/progress.h"

namespace simcuda {

class Context;
class Event;
class HardwareQueue;
using ContextPtr = std::shared_ptr<Context>;

namespace capture {
class Session;  // defined by capture.cc
}

enum class StreamKind {
  kLegacy,       // the NULL stream: ordered against every blocking stream of the context
  kBlocking,     // cuStreamCreate with CU_STREAM_DEFAULT, and the per-thread streams
  kNonBlocking,  // CU_STREAM_NON_BLOCKING
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(ContextPtr context, StreamKind kind, int priority, HardwareQueue* queue);

  const ContextPtr& context() const { return context_; }
  StreamKind kind() const { return kind_; }
  int priority() const { return priority_; }
  uint64_t id() const { return id_; }
  CUstream handle() const { return handle_; }
  void set_handle(CUstream handle) { handle_ = handle; }

  // THE door for work: while the stream captures, the op goes into the capture (capture::Divert)
  // and nothing runs; otherwise it is queued. May block while the hardware queue is full. `ticket`,
  // if given, names the op's completion (empty when captured). Errors: the context's sticky one,
  // capture's, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for legacy work beside a capture.
  CUresult Submit(OpPtr op, Ticket* ticket = nullptr);

  // Submit, past the capture check: for what capture has decided itself.
  CUresult SubmitUncaptured(OpPtr op, Ticket* ticket);

  // What must finish for the stream to have drained of all that was submitted before; the legacy
  // stream answers for the blocking ones too.
  std::vector<Ticket> PendingTickets();

  const ProgressPtr& progress() const { return progress_; }

  // The capture that the stream takes part in, null when none. Set by capture.cc only; the pointer
  // is guarded by a lock of its own, `capturing` is its cheap shadow.
  bool capturing() const { return capturing_.load(std::memory_order_acquire); }
  std::shared_ptr<capture::Session> capture_session() const;
  void set_capture_session(std::shared_ptr<capture::Session> session);

 private:
  friend class Context;

  const ContextPtr context_;
  const StreamKind kind_;
  const int priority_;
  const uint64_t id_;
  HardwareQueue* const queue_;
  const ProgressPtr progress_ = std::make_shared<Progress>();
  CUstream handle_ = nullptr;  // constant after creation

  std::atomic<bool> capturing_{false};
  mutable Mutex capture_mutex_;
  std::shared_ptr<capture::Session> capture_session_ SIMCUDA_GUARDED_BY(capture_mutex_);
};
using StreamPtr = std::shared_ptr<Stream>;

}  // namespace simcuda

#endif  // VRAMSPAN_TOOLS_SIMCUDA_STREAM_H_
