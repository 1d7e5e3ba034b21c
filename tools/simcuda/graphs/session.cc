#include "tools/simcuda/graphs/session.h"

#include <algorithm>
#include <atomic>
#include <unordered_set>
#include <utility>

#include "tools/simcuda/thread.h"

namespace simcuda::capture {
namespace {

std::atomic<int> open_sessions{0};

}  // namespace

bool AnyCapture() { return open_sessions.load(std::memory_order_acquire) != 0; }

std::vector<SessionPtr>& Sessions() {
  static auto* const sessions = new std::vector<SessionPtr>();
  return *sessions;
}

SessionPtr Session::Begin(Stream& origin, CUstreamCaptureMode mode, graphs::GraphPtr graph,
                          std::vector<graphs::Node*> latest) {
  static uint64_t next_id = 1;
  SessionPtr session(new Session());
  session->id_ = next_id++;
  session->mode_ = mode;
  session->thread_ = Thread::Self().id;
  session->origin_ = &origin;
  session->graph_ = std::move(graph);
  session->Join(origin);
  session->Latest(origin) = std::move(latest);
  Sessions().push_back(session);
  open_sessions.fetch_add(1, std::memory_order_release);
  return session;
}

void Session::Join(Stream& stream) {
  members_[&stream].stream = stream.weak_from_this();
  stream.set_capture_session(shared_from_this());
}

bool Session::ConcernsContext(const Context& context, bool blocking_only) const {
  return std::any_of(members_.begin(), members_.end(), [&](const auto& entry) {
    const StreamPtr stream = entry.second.stream.lock();
    return stream && stream->context().get() == &context &&
           (!blocking_only || stream->kind() == StreamKind::kBlocking);
  });
}

bool Session::Joined() const {
  std::unordered_set<const graphs::Node*> reached;
  std::vector<const graphs::Node*> open(members_.at(origin_).latest.begin(),
                                        members_.at(origin_).latest.end());
  while (!open.empty()) {
    const graphs::Node* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    open.insert(open.end(), node->dependencies().begin(), node->dependencies().end());
  }
  return std::all_of(members_.begin(), members_.end(), [&](const auto& entry) {
    return std::all_of(entry.second.latest.begin(), entry.second.latest.end(),
                       [&](const graphs::Node* node) { return reached.count(node) != 0; });
  });
}

void Session::End() {
  active_ = false;
  ended_ = true;
  for (const auto& [address, member] : members_) {
    const StreamPtr stream = member.stream.lock();
    if (stream) stream->set_capture_session(nullptr);
  }
  members_.clear();
  open_sessions.fetch_sub(1, std::memory_order_release);
  std::erase_if(Sessions(), [this](const SessionPtr& other) { return other.get() == this; });
}

}  // namespace simcuda::capture
