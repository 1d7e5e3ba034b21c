#include "tools/broker/server/scrape_server.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "tools/broker/core/amounts.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/http_request.h"
#include "tools/broker/server/journal.h"

namespace vramspan::broker {
namespace {

// Until those who cost too much are looked at again.
constexpr Duration kRest = std::chrono::milliseconds(200);
// What is taken of who goes on speaking behind its request, so that the answer is not lost.
constexpr size_t kMostDiscarded = 64 << 10;

}  // namespace

ScrapeServer::ScrapeServer(Loop& loop, Text text)
    : loop_(loop), text_(std::move(text)), allowance_(Now()) {}

Status ScrapeServer::Start(Fd listening) {
  listening_ = std::move(listening);
  VS_RETURN_IF_ERROR(alarm_.Start(loop_, [this] { OnAlarm(); }));
  VS_ASSIGN_OR_RETURN(watch_,
                      loop_.Watch(listening_.get(), EPOLLIN, [this](uint32_t) { OnConnection(); }));
  return absl::OkStatus();
}

void ScrapeServer::OnConnection() {
  const Duration before = Spent();
  const Instant now = Now();
  allowance_.Fill(now);
  Fd socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const bool full = !socket && (errno == EMFILE || errno == ENFILE);
  if (socket) {
    const Key key = ++last_;
    const StatusOr<WatchId> watch =
        loop_.Watch(socket.get(), EPOLLIN, [this, key](uint32_t) { OnReady(key); });
    if (watch.ok()) {
      if (connections_.size() == kMostConnections) End(connections_.begin()->first);
      Connection& connection = connections_[key];
      connection.socket = std::move(socket);
      connection.watch = *watch;
      connection.until = After(now, kDeadline);
    }
  }
  allowance_.Charge(Spent() - before);
  // Somebody who waits for a descriptor would be told of for ever.
  if (allowance_.empty() || full) {
    accepts_at_ = After(now, kRest);
    loop_.Expect(watch_, 0);
  }
  SetAlarm();
}

void ScrapeServer::OnReady(Key key) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  const Duration before = Spent();
  if (!Serve(found->second)) End(key);
  allowance_.Charge(Spent() - before);
  SetAlarm();
}

bool ScrapeServer::Serve(Connection& connection) {
  if (connection.head.empty() && !Read(connection)) return false;
  if (connection.head.empty()) return true;
  const size_t size = connection.head.size() + connection.body->size();
  if (connection.sent == size) return Discard(connection);
  if (!Write(connection)) return false;
  if (connection.sent < size) {
    loop_.Expect(connection.watch, EPOLLOUT);
    return true;
  }
  // The other is told that this was all, and ends the connection. To close it while something of
  // the other is unread would throw the answer away.
  shutdown(connection.socket.get(), SHUT_WR);
  loop_.Expect(connection.watch, EPOLLIN);
  return true;
}

bool ScrapeServer::Read(Connection& connection) {
  std::array<char, kMostOfAnHttpRequest> buffer;
  const ssize_t size = recv(connection.socket.get(), buffer.data(),
                            buffer.size() - connection.request.size(), MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  if (size == 0) return false;
  connection.request.append(buffer.data(), static_cast<size_t>(size));
  Answer(connection);
  return true;
}

void ScrapeServer::Answer(Connection& connection) {
  const HttpAnswer answer = ReadHttpRequest(connection.request);
  if (answer.code == 0) return;
  static const auto nothing = std::make_shared<const std::string>();
  if (answer.body == HttpAnswer::Body::kWords) {
    connection.body = std::make_shared<const std::string>(HttpWords(answer.code));
  } else {
    connection.body = text_();
  }
  connection.head = HttpHead(answer.code, connection.body->size());
  if (answer.body == HttpAnswer::Body::kNone) connection.body = nothing;
}

bool ScrapeServer::Write(Connection& connection) {
  const std::string& head = connection.head;
  const std::string& body = *connection.body;
  const size_t of_head = std::min(connection.sent, head.size());
  const size_t of_body = connection.sent - of_head;
  std::array<iovec, 2> parts = {
      iovec{const_cast<char*>(head.data()) + of_head, head.size() - of_head},
      iovec{const_cast<char*>(body.data()) + of_body, body.size() - of_body}};
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t sent = sendmsg(connection.socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  connection.sent += static_cast<size_t>(sent);
  return true;
}

bool ScrapeServer::Discard(Connection& connection) {
  std::array<char, 4096> buffer;
  const ssize_t size = recv(connection.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  connection.discarded += static_cast<size_t>(size);
  return size > 0 && connection.discarded < kMostDiscarded;
}

void ScrapeServer::End(Key key) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  loop_.Forget(found->second.watch);
  connections_.erase(found);
}

void ScrapeServer::OnAlarm() {
  const Instant now = Now();
  // In the order in which they came, and so of their deadlines.
  while (!connections_.empty() && connections_.begin()->second.until <= now) {
    End(connections_.begin()->first);
  }
  allowance_.Fill(now);
  if (accepts_at_ && *accepts_at_ <= now) {
    if (allowance_.empty()) {
      accepts_at_ = After(now, kRest);
    } else {
      accepts_at_.reset();
      loop_.Expect(watch_, EPOLLIN);
    }
  }
  SetAlarm();
}

void ScrapeServer::SetAlarm() {
  std::optional<Instant> at = accepts_at_;
  if (!connections_.empty()) {
    const Instant until = connections_.begin()->second.until;
    at = std::min(at.value_or(Instant::max()), until);
  }
  alarm_.Set(at);
}

}  // namespace vramspan::broker
