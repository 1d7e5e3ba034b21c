#include "tools/broker/server/control.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tools/broker/server/hang_up.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/socket.h"

namespace vramspan::broker {
namespace {

constexpr size_t kMostOfARequest = 64 << 10;
// Operators are few. A choice.
constexpr size_t kMostOperators = 16;

// The file's mode says so, too. This holds where its folder is on something that has no modes.
bool MayOperate(int socket) {
  ucred credentials = {};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return false;
  return credentials.uid == 0 || credentials.uid == geteuid();
}

}  // namespace

Status Control::Start(Fd listening) {
  listening_ = std::move(listening);
  return loop_.Watch(listening_.get(), EPOLLIN, [this](uint32_t) { OnConnection(); }).status();
}

void Control::OnConnection() {
  Fd socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket && (errno == EMFILE || errno == ENFILE)) {
    Journal::Say("an operator was turned away: there are no descriptors left (ulimit -n)");
    return spare_.TurnAway(listening_.get());
  }
  if (!socket) return;
  if (!MayOperate(socket.get()) || connections_.size() >= kMostOperators) {
    return HangUp(std::move(socket));
  }
  const WatchId key = ++last_;
  const StatusOr<WatchId> watch =
      loop_.Watch(socket.get(), EPOLLIN, [this, key](uint32_t) { OnReady(key); });
  if (!watch.ok()) {
    Journal::Say(watch.status().message());
    return HangUp(std::move(socket));
  }
  Connection& connection = connections_[key];
  connection.socket = std::move(socket);
  connection.watch = *watch;
}

void Control::OnReady(WatchId key) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  if (connection.answers.empty() && !Read(connection)) return End(key);
  if (!Write(connection)) return End(key);
  loop_.Expect(connection.watch, connection.answers.empty() ? EPOLLIN : EPOLLOUT);
}

bool Control::Read(Connection& connection) {
  std::vector<uint8_t> buffer(kMostOfARequest);
  const Received received = Receive(connection.socket.get(), buffer);
  if (received.kind == Received::Kind::kEnd) return false;
  if (received.kind == Received::Kind::kDescriptors) return false;
  if (received.kind == Received::Kind::kNothing) return true;
  const std::string_view request(reinterpret_cast<const char*>(buffer.data()), received.size);
  for (std::string& line : answer_(request)) connection.answers.push_back(std::move(line));
  return true;
}

bool Control::Write(Connection& connection) {
  while (!connection.answers.empty()) {
    const std::string& next = connection.answers.front();
    const Sent sent =
        Send(connection.socket.get(), {reinterpret_cast<const uint8_t*>(next.data()), next.size()});
    if (sent == Sent::kGone) return false;
    if (sent == Sent::kFull) return true;
    connection.answers.pop_front();
  }
  return true;
}

void Control::End(WatchId key) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  loop_.Forget(found->second.watch);
  HangUp(std::move(found->second.socket));
  connections_.erase(found);
}

}  // namespace vramspan::broker
