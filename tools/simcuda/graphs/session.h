#ifndef VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_SESSION_H_
#define VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_SESSION_H_

// A running stream capture: the graph that it fills and, of each stream that takes part, the nodes
// that its next work depends on. Guarded by graph_mutex.

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tools/simcuda/context.h"
#include "tools/simcuda/graphs/graph.h"
#include "tools/simcuda/stream.h"

namespace simcuda::capture {

class Session : public std::enable_shared_from_this<Session> {
 public:
  struct Member {
    std::weak_ptr<Stream> stream;
    std::vector<graphs::Node*> latest;
  };

  // Begins a capture in `origin`, by the calling thread. `graph` may have nodes already.
  static std::shared_ptr<Session> Begin(Stream& origin, CUstreamCaptureMode mode,
                                        graphs::GraphPtr graph, std::vector<graphs::Node*> latest)
      SIMCUDA_REQUIRES(graphs::graph_mutex);

  uint64_t id() const { return id_; }
  CUstreamCaptureMode mode() const { return mode_; }
  uint64_t thread() const { return thread_; }
  const Stream* origin() const { return origin_; }
  const graphs::GraphPtr& graph() const { return graph_; }
  bool active() const { return active_; }
  bool ended() const { return ended_; }

  // A call ruined it: it stays until it is ended, and takes nothing more.
  void Invalidate() { active_ = false; }

  std::vector<graphs::Node*>& Latest(Stream& stream) { return members_[&stream].latest; }
  void Join(Stream& stream);
  bool ConcernsContext(const Context& context, bool blocking_only) const;
  // Its context was destroyed, so nobody can end it.
  bool orphaned() const { return members_.at(origin_).stream.expired(); }
  // Whether everything captured in other streams is waited for by the origin.
  bool Joined() const SIMCUDA_REQUIRES(graphs::graph_mutex);

  // Lets every stream go. The graph is the caller's to keep or to retire.
  void End() SIMCUDA_REQUIRES(graphs::graph_mutex);

 private:
  Session() = default;

  uint64_t id_ = 0;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_GLOBAL;
  uint64_t thread_ = 0;
  const Stream* origin_ = nullptr;
  graphs::GraphPtr graph_;
  bool active_ = true;
  bool ended_ = false;
  std::map<const Stream*, Member> members_;
};
using SessionPtr = std::shared_ptr<Session>;

// What a captured event stands for.
class EventMark {
 public:
  EventMark(SessionPtr session, std::vector<graphs::Node*> nodes)
      : session_(std::move(session)), nodes_(std::move(nodes)) {}
  Session& session() const { return *session_; }
  // Alive as long as the session has not ended.
  const std::vector<graphs::Node*>& nodes() const { return nodes_; }

 private:
  const SessionPtr session_;
  const std::vector<graphs::Node*> nodes_;
};

// Whether any capture has not ended; without the lock.
bool AnyCapture();

// All captures that have not ended.
std::vector<SessionPtr>& Sessions() SIMCUDA_REQUIRES(graphs::graph_mutex);

}  // namespace simcuda::capture

#endif  // VRAMSPAN_TOOLS_SIMCUDA_GRAPHS_SESSION_H_
