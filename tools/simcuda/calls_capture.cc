#include "tools/simcuda/calls_capture.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/simcuda/capture.h"
#include "tools/simcuda/graphs/graph.h"
#include "tools/simcuda/graphs/session.h"
#include "tools/simcuda/thread.h"

namespace simcuda::calls {

using capture::Session;
using capture::SessionPtr;
using graphs::Graph;
using graphs::graph_mutex;
using graphs::GraphOwner;
using graphs::GraphPtr;
using graphs::Node;

namespace {

bool Known(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult Begin(Stream& stream, CUstreamCaptureMode mode, GraphPtr graph, std::vector<Node*> latest)
    SIMCUDA_REQUIRES(graph_mutex) {
  if (stream.capturing()) return CUDA_ERROR_ILLEGAL_STATE;
  Session::Begin(stream, mode, std::move(graph), std::move(latest));
  return CUDA_SUCCESS;
}

// A stream to ask about. The legacy stream cannot be asked while its work would touch a capture.
CUresult FindAskable(CUstream handle, StreamPtr* stream) {
  const CUresult result = FindStream(handle, stream);
  if (result != CUDA_SUCCESS || (*stream)->kind() != StreamKind::kLegacy) return result;
  MutexLock lock(graph_mutex);
  for (const SessionPtr& session : capture::Sessions()) {
    if (session->ConcernsContext(*(*stream)->context(), /*blocking_only=*/true)) {
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  return CUDA_SUCCESS;
}

CUstreamCaptureStatus StatusOf(const SessionPtr& session) {
  if (!session) return CU_STREAM_CAPTURE_STATUS_NONE;
  return session->active() ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

}  // namespace

CUresult StreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  if (!Known(mode)) return CUDA_ERROR_INVALID_VALUE;
  StreamPtr stream;
  const CUresult result = FindStream(handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (stream->kind() == StreamKind::kLegacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  MutexLock lock(graph_mutex);
  if (stream->capturing()) return CUDA_ERROR_ILLEGAL_STATE;
  return Begin(*stream, mode, Graph::Create(GraphOwner::kCapture), {});
}

CUresult StreamBeginCapture10000(CUstream stream) {
  return StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult StreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle,
                                   const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* /*edges*/, size_t count,
                                   CUstreamCaptureMode mode) {
  if (!Known(mode)) return CUDA_ERROR_INVALID_VALUE;
  StreamPtr stream;
  CUresult result = FindStream(handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (stream->kind() == StreamKind::kLegacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  MutexLock lock(graph_mutex);
  GraphPtr graph;
  result = FindGraph(graph_handle, &graph);
  if (result != CUDA_SUCCESS) return result;
  if (graph->owner() == GraphOwner::kCapture) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<Node*> latest;
  result = FindNodes(*graph, dependencies, count, &latest);
  if (result != CUDA_SUCCESS) return result;
  return Begin(*stream, mode, std::move(graph), std::move(latest));
}

CUresult StreamEndCapture(CUstream handle, CUgraph* graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *graph = nullptr;
  StreamPtr stream;
  const CUresult result = FindStream(handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  MutexLock lock(graph_mutex);
  const SessionPtr session = stream->capture_session();
  if (!session) return CUDA_ERROR_ILLEGAL_STATE;
  if (session->origin() != stream.get()) {
    session->Invalidate();
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (session->mode() != CU_STREAM_CAPTURE_MODE_RELAXED && session->thread() != Thread::Self().id) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool valid = session->active();
  const bool joined = valid && session->Joined();
  session->End();
  Graph& captured = *session->graph();
  if (!valid || !joined) {
    // A graph that the program gave stays the program's.
    if (captured.owner() == GraphOwner::kCapture) captured.Retire();
    return valid ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  }
  if (captured.owner() == GraphOwner::kCapture) captured.set_owner(GraphOwner::kProgram);
  *graph = captured.handle();
  return CUDA_SUCCESS;
}

CUresult StreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return StreamGetCaptureInfo(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

CUresult StreamGetCaptureInfo10010(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
  return StreamGetCaptureInfo(stream, status, id, nullptr, nullptr, nullptr, nullptr);
}

CUresult StreamGetCaptureInfo11030(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  return StreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}

CUresult StreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                              CUgraph* graph, const CUgraphNode** dependencies,
                              const CUgraphEdgeData** edges, size_t* count) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamPtr stream;
  const CUresult result = FindAskable(handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  thread_local std::vector<CUgraphNode> latest;
  thread_local std::vector<CUgraphEdgeData> latest_edges;
  latest.clear();
  MutexLock lock(graph_mutex);
  const SessionPtr session = stream->capture_session();
  *status = StatusOf(session);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  for (const Node* node : session->Latest(*stream)) latest.push_back(node->handle());
  latest_edges.assign(latest.size(), CUgraphEdgeData{});
  if (id != nullptr) *id = session->id();
  if (graph != nullptr) *graph = session->graph()->handle();
  if (dependencies != nullptr) *dependencies = latest.data();
  if (edges != nullptr) *edges = latest_edges.data();
  if (count != nullptr) *count = latest.size();
  return CUDA_SUCCESS;
}

CUresult StreamUpdateCaptureDependencies11030(CUstream stream, CUgraphNode* dependencies,
                                              size_t count, unsigned flags) {
  return StreamUpdateCaptureDependencies(stream, dependencies, nullptr, count, flags);
}

CUresult StreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* dependencies,
                                         const CUgraphEdgeData* /*edges*/, size_t count,
                                         unsigned flags) {
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  StreamPtr stream;
  CUresult result = FindStream(handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  MutexLock lock(graph_mutex);
  const SessionPtr session = stream->capture_session();
  if (!session) return CUDA_ERROR_ILLEGAL_STATE;
  if (!session->active()) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  std::vector<Node*> nodes;
  result = FindNodes(*session->graph(), dependencies, count, &nodes);
  if (result != CUDA_SUCCESS) return result;
  std::vector<Node*>& latest = session->Latest(*stream);
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) latest.clear();
  for (Node* node : nodes) {
    if (std::find(latest.begin(), latest.end(), node) == latest.end()) latest.push_back(node);
  }
  return CUDA_SUCCESS;
}

}  // namespace simcuda::calls
