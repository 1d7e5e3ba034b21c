// The rules of stream capture that other calls must keep; see tools/simcuda/capture.h.

#include "tools/simcuda/capture.h"

#include <algorithm>
#include <utility>

#include "tools/simcuda/graphs/exec.h"
#include "tools/simcuda/graphs/graph.h"
#include "tools/simcuda/graphs/node_work.h"
#include "tools/simcuda/graphs/session.h"
#include "tools/simcuda/thread.h"

namespace simcuda::capture {

using graphs::graph_mutex;
using graphs::Node;
using graphs::NodeWork;

namespace {

SessionPtr SessionOf(const Stream& stream) { return stream.capture_session(); }

// Makes a node of the stream's capture and lets the stream's next work depend on it.
void Append(Session& session, Stream& stream, NodeWork work) SIMCUDA_REQUIRES(graph_mutex) {
  std::vector<Node*>& latest = session.Latest(stream);
  Node& node = session.graph()->Add(std::move(work), latest);
  latest.assign(1, &node);
}

}  // namespace

CUresult CheckUnsafeCall() {
  if (!AnyCapture()) return CUDA_SUCCESS;
  const Thread& thread = Thread::Self();
  if (thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  MutexLock lock(graph_mutex);
  bool forbidden = false;
  for (const SessionPtr& session : Sessions()) {
    const bool own =
        session->thread() == thread.id && session->mode() != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool global = thread.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                        session->mode() == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if ((!own && !global) || session->orphaned()) continue;
    session->Invalidate();
    forbidden = true;
  }
  return forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult CheckLegacyCall(Context& context, bool synchronous) {
  if (!AnyCapture()) return CUDA_SUCCESS;
  MutexLock lock(graph_mutex);
  bool forbidden = false;
  for (const SessionPtr& session : Sessions()) {
    if (!session->ConcernsContext(context, /*blocking_only=*/!synchronous)) continue;
    session->Invalidate();
    forbidden = true;
  }
  if (!forbidden) return CUDA_SUCCESS;
  return synchronous ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult Divert(Stream& stream, const OpPtr& op, bool* diverted) {
  MutexLock lock(graph_mutex);
  const SessionPtr session = SessionOf(stream);
  *diverted = session != nullptr;
  if (!session) return CUDA_SUCCESS;
  if (!session->active()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  NodeWork work;
  if (op->kind() == OpKind::kGraph) {
    work.type = CU_GRAPH_NODE_TYPE_GRAPH;
    work.child = static_cast<const graphs::GraphOp&>(*op).graph().Clone(graphs::GraphOwner::kNode);
  } else if (!graphs::MakeCaptured(op, &work)) {
    session->Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  Append(*session, stream, std::move(work));
  return CUDA_SUCCESS;
}

CUresult OnEventRecord(Stream& stream, const EventPtr& event, unsigned flags, bool* handled) {
  *handled = false;
  if (!stream.capturing()) return CUDA_SUCCESS;
  MutexLock lock(graph_mutex);
  const SessionPtr session = SessionOf(stream);
  if (!session) return CUDA_SUCCESS;
  *handled = true;
  if (!session->active()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
    NodeWork work;
    work.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    work.event = event;
    Append(*session, stream, std::move(work));
    return CUDA_SUCCESS;
  }
  event->set_capture_mark(std::make_shared<EventMark>(session, session->Latest(stream)));
  return CUDA_SUCCESS;
}

CUresult OnEventWait(Stream& stream, const EventPtr& event, unsigned flags, bool* handled) {
  *handled = false;
  const std::shared_ptr<EventMark> mark = event->capture_mark();
  if (!mark && !stream.capturing()) return CUDA_SUCCESS;
  MutexLock lock(graph_mutex);
  const SessionPtr session = SessionOf(stream);
  if (!mark && !session) return CUDA_SUCCESS;
  *handled = true;
  if (session && !session->active()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

  if (session && (flags & CU_EVENT_WAIT_EXTERNAL) != 0) {
    NodeWork work;
    work.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    work.event = event;
    Append(*session, stream, std::move(work));
    return CUDA_SUCCESS;
  }
  if (!mark) {
    // An event that was never recorded is no dependency; one of real work is one that the graph
    // cannot have.
    if (!event->record()) return CUDA_SUCCESS;
    session->Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  Session& marked = mark->session();
  if (marked.ended()) {
    if (!session) return CUDA_ERROR_CAPTURED_EVENT;
    session->Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (!marked.active()) {
    if (session) session->Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  if (session && session.get() != &marked) {
    session->Invalidate();
    marked.Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!session) {
    if (stream.kind() == StreamKind::kLegacy) {
      marked.Invalidate();
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    marked.Join(stream);
  }
  std::vector<Node*>& latest = marked.Latest(stream);
  for (Node* node : mark->nodes()) {
    if (std::find(latest.begin(), latest.end(), node) == latest.end()) latest.push_back(node);
  }
  return CUDA_SUCCESS;
}

CUresult CheckStreamIdleCall(Stream& stream) {
  if (!stream.capturing()) return CUDA_SUCCESS;
  MutexLock lock(graph_mutex);
  const SessionPtr session = SessionOf(stream);
  if (!session) return CUDA_SUCCESS;
  session->Invalidate();
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void OnStreamDestroy(Stream& stream) {
  if (!stream.capturing()) return;
  MutexLock lock(graph_mutex);
  const SessionPtr session = SessionOf(stream);
  if (!session) return;
  // Without its origin nobody can end it; without another member it can only end badly.
  if (session->origin() == &stream) {
    session->End();
    session->graph()->Retire();
  } else {
    session->Invalidate();
  }
}

CUresult CheckEventIdleCall(Event& event) {
  return event.capture_mark() ? CUDA_ERROR_CAPTURED_EVENT : CUDA_SUCCESS;
}

CUresult ExchangeThreadMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
      *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::swap(*mode, Thread::Self().capture_mode);
  return CUDA_SUCCESS;
}

}  // namespace simcuda::capture
