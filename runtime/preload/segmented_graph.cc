#include "runtime/preload/segmented_graph.h"

#include <absl/hash/hash.h>

#include <array>
#include <utility>

#include "runtime/api/tracing.h"
#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/thread_number.h"
#include "runtime/preload/beside_captures.h"
#include "runtime/preload/captures.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/launch.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {
namespace {

// What instantiates, updates, destroys and orders segments. The last ones are no calls that anybody
// needs to see.
struct SegmentCalls {
  decltype(&::cuGraphInstantiateWithFlags) instantiate;
  decltype(&::cuGraphExecUpdate_v2) update;
  decltype(&::cuGraphExecDestroy) destroy;
  decltype(&::cuGraphUpload) upload;
  decltype(&::cuEventCreate) event_create;
  decltype(&::cuEventDestroy_v2) event_destroy;
  decltype(&::cuEventRecord) event_record;
  decltype(&::cuStreamWaitEvent) wait_event;
  decltype(&::cuEventSynchronize) await_event;
  decltype(&::cuStreamSynchronize) await_stream;

  bool all() const {
    return instantiate && update && destroy && upload && event_create && event_destroy &&
           event_record && wait_event && await_event && await_stream &&
           BesideCaptures::Call() != nullptr;
  }
  static const SegmentCalls& Get() {
    static const SegmentCalls calls = {
        DriverFunction<decltype(instantiate)>("cuGraphInstantiateWithFlags"),
        DriverFunction<decltype(update)>("cuGraphExecUpdate_v2"),
        DriverFunction<decltype(destroy)>("cuGraphExecDestroy"),
        DriverFunction<decltype(upload)>("cuGraphUpload"),
        DriverFunction<decltype(event_create)>("cuEventCreate"),
        DriverFunction<decltype(event_destroy)>("cuEventDestroy_v2"),
        DriverFunction<decltype(event_record)>("cuEventRecord"),
        DriverFunction<decltype(wait_event)>("cuStreamWaitEvent"),
        DriverFunction<decltype(await_event)>("cuEventSynchronize"),
        DriverFunction<decltype(await_stream)>("cuStreamSynchronize"),
    };
    return calls;
  }
};

// With the memory that the driver needs for its launches, which may be vramspan's by now.
CUgraphExec Instantiate(CUgraph graph, unsigned flags, CUstream stream) {
  const SegmentCalls& calls = SegmentCalls::Get();
  CUgraphExec exec = nullptr;
  const CUresult made = WithRescue(0, [&] {
    return VS_WATCHED(cuGraphInstantiateWithFlags)(calls.instantiate, &exec, graph, flags);
  });
  if (made != CUDA_SUCCESS) return nullptr;
  if (WithRescue(0, [&] { return calls.upload(exec, stream); }) == CUDA_SUCCESS) return exec;
  VS_WATCHED(cuGraphExecDestroy)(calls.destroy, exec);
  return nullptr;
}
bool Updated(CUgraphExec exec, CUgraph graph) {
  CUgraphExecUpdateResultInfo info{};
  return VS_WATCHED(cuGraphExecUpdate_v2)(SegmentCalls::Get().update, exec, graph, &info) ==
         CUDA_SUCCESS;
}

// Kept of what the program asks of the whole.
constexpr unsigned kKeptFlags = CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

// One for each of the streams in which such graphs are launched, most likely.
constexpr size_t kStreamLocks = 64;
Mutex& LockOf(CUcontext context, CUstream stream) {
  static std::array<Mutex, kStreamLocks>* const locks = new std::array<Mutex, kStreamLocks>;
  const uint64_t thread = stream == CU_STREAM_PER_THREAD ? ThreadNumber::Mine() : 0;
  return (*locks)[absl::HashOf(context, stream, thread) % kStreamLocks];
}

}  // namespace

std::shared_ptr<SegmentedGraph> SegmentedGraph::Make(CUgraphExec exec, CUgraph graph,
                                                     unsigned long long flags) {
  const CUcontext context = CurrentContext();
  const GraphLaunch how = Tracing::HowToLaunch(context, exec);
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0 || how == GraphLaunch::kWhole ||
      !SegmentCalls::Get().all()) {
    return nullptr;
  }
  std::shared_ptr<SegmentedGraph> made(new SegmentedGraph(exec, context,
                                                          static_cast<unsigned>(flags) & kKeptFlags,
                                                          /*chooses=*/how == GraphLaunch::kAuto));
  MutexLock lock(made->mu_);
  made->Read(graph);
  return made->copy_.graph() != nullptr ? made : nullptr;
}

SegmentedGraph::~SegmentedGraph() {
  MutexLock lock(mu_);
  StayWholeFromHere();
  const OwnCalls own;
  if (launched_ != nullptr) SegmentCalls::Get().event_destroy(launched_);
}

void SegmentedGraph::Abandon() {
  MutexLock lock(mu_);
  segments_.clear();
  launched_ = nullptr;
  times_.Abandon();
}

void SegmentedGraph::Read(CUgraph graph) {
  const OwnCalls own;
  const BesideCaptures beside;
  nodes_ = NodesInOrder(graph);
  copy_ = nodes_.empty() ? GraphCopy() : GraphCopy::Of(graph, nodes_);
  copies_.clear();
  if (copy_.graph() == nullptr) return;
  for (size_t i = 0; i < nodes_.size(); ++i) copies_[nodes_[i]] = copy_.nodes()[i];
  changed_ = true;
}

void SegmentedGraph::Update(CUgraph graph) {
  MutexLock lock(mu_);
  if (whole_) return;
  const OwnCalls own;
  if (launched_ == nullptr && !Tracing::Tracks(context_)) {
    // A copy at each update costs too much while memory suffices. The next one reads it again.
    const BesideCaptures beside;
    copy_ = {};
    return;
  }
  const size_t nodes = nodes_.size();
  Read(graph);
  // An update changes no more than parameters, most often: what was cut so still may be.
  if (nodes_.size() == nodes && ends_.size() != 1) return;
  ends_.clear();
  choice_ = {};
}

void SegmentedGraph::SetNode(CUgraphNode node, absl::FunctionRef<CUresult(CUgraphNode)> set) {
  MutexLock lock(mu_);
  if (whole_ || copy_.graph() == nullptr) return;
  const auto copy = copies_.find(node);
  if (copy == copies_.end() || set(copy->second) != CUDA_SUCCESS) {
    StayWholeFromHere();
    return;
  }
  changed_ = true;
}

void SegmentedGraph::StayWhole() {
  MutexLock lock(mu_);
  StayWholeFromHere();
}

void SegmentedGraph::StayWholeFromHere() {
  whole_ = true;
  DropSegments(0);
  const OwnCalls own;
  const BesideCaptures beside;
  copy_ = {};
  copies_.clear();
}

void SegmentedGraph::DropSegments(size_t kept) {
  const BesideCaptures beside;
  while (segments_.size() > kept) {
    VS_WATCHED(cuGraphExecDestroy)(SegmentCalls::Get().destroy, segments_.back());
    segments_.pop_back();
  }
}

bool SegmentedGraph::MakeSegments(CUstream stream) {
  const BesideCaptures beside;
  std::vector<GraphCopy> pieces;
  {
    const OwnCalls own;
    pieces = GraphCopy::Split(copy_.Copy(), ends_);
  }
  DropSegments(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i < segments_.size() && Updated(segments_[i], pieces[i].graph())) continue;
    const CUgraphExec made = Instantiate(pieces[i].graph(), flags_, stream);
    if (made == nullptr) return false;
    if (i < segments_.size()) {
      VS_WATCHED(cuGraphExecDestroy)
      (SegmentCalls::Get().destroy, std::exchange(segments_[i], made));
    } else {
      segments_.push_back(made);
    }
  }
  const OwnCalls own;
  pieces.clear();
  return !segments_.empty();
}

bool SegmentedGraph::ToBeCut() {
  if (whole_ || copy_.graph() == nullptr) return false;
  if (ends_.empty()) ends_ = Tracing::CutsOf(context_, exec_, nodes_);
  return ends_.size() > 1;
}

bool SegmentedGraph::Ready(CUstream stream) {
  if (!changed_) return true;
  changed_ = !MakeSegments(stream);
  if (!changed_) return true;
  StayWholeFromHere();
  Log(LogLevel::kInfo, "a graph whose memory does not fit cannot be cut, and is launched whole");
  return false;
}

void SegmentedGraph::AwaitEarlier(CUstream stream) {
  if (launched_ == nullptr) return;
  const OwnCalls own;
  const SegmentCalls& calls = SegmentCalls::Get();
  if (calls.wait_event(stream, launched_, 0) != CUDA_SUCCESS) calls.await_event(launched_);
}

void SegmentedGraph::NoteLaunch(CUstream stream) {
  const OwnCalls own;
  const BesideCaptures beside;
  const SegmentCalls& calls = SegmentCalls::Get();
  if (launched_ == nullptr &&
      calls.event_create(&launched_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    launched_ = nullptr;
  }
  if (launched_ != nullptr && calls.event_record(launched_, stream) == CUDA_SUCCESS) return;
  // Whoever comes next could not wait for it otherwise.
  calls.await_stream(stream);
}

CUresult SegmentedGraph::LaunchSegments(LaunchCall launch) {
  Tracing::NoteSegments(context_, segments_.size());
  for (const CUgraphExec segment : segments_) {
    const CUresult result = launch(segment);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

GraphWay SegmentedGraph::Choose() {
  if (!chooses_) return GraphWay::kSegments;
  times_.Collect([this](GraphWay way, Duration time)
                     VS_NO_THREAD_SAFETY_ANALYSIS { choice_.Took(way, time); });
  if (choice_.settled() && choice_.way() == GraphWay::kWhole && !segments_.empty()) {
    DropSegments(0);
    changed_ = true;
  }
  return choice_.way();
}

CUresult SegmentedGraph::Launch(CUstream stream, LaunchCall launch) {
  MutexLock lock(mu_);
  const bool cut = ToBeCut();
  // Behind the whole ones so far is no segment, but a whole one is.
  const bool first = launched_ == nullptr;
  if ((!cut && first) || Captures(stream)) return launch(exec_);
  const bool may = cut && !first;
  MutexLock alone(LockOf(context_, stream));
  AwaitEarlier(stream);
  GraphWay way = may ? Choose() : GraphWay::kWhole;
  // Events are of the current context, which may end before this one does.
  const bool timed = may && chooses_ && CurrentContext() == context_;
  if (timed) times_.Begin(stream);
  // What updates segments is a part of what a launch takes.
  if (way == GraphWay::kSegments && !Ready(stream)) way = GraphWay::kWhole;
  const CUresult result = way == GraphWay::kSegments ? LaunchSegments(launch) : launch(exec_);
  if (timed) times_.End(stream, way);
  NoteLaunch(stream);
  return result;
}

}  // namespace vramspan::preload
