#include "tools/broker/server/reception.h"

#include <absl/strings/str_cat.h>
#include <sys/socket.h>

#include <array>
#include <utility>
#include <vector>

#include "tools/broker/server/clock.h"
#include "tools/broker/server/hang_up.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/socket.h"
#include "tools/broker/server/system_error.h"

namespace vramspan::broker {
namespace {

// Others are looked at after so many, of one process and of those who connect. A choice.
constexpr int kMostAtOnce = 32;

}  // namespace

Reception::Reception(Loop& loop, Dispatcher& dispatcher, Inspector& inspector, Accounts& accounts,
                     Clients& clients, Machine& machine, DeviceMaker& maker, Drains& drains,
                     std::string proc)
    : loop_(loop),
      dispatcher_(dispatcher),
      inspector_(inspector),
      accounts_(accounts),
      clients_(clients),
      machine_(machine),
      maker_(maker),
      drains_(drains),
      proc_(std::move(proc)),
      accepting_(Now()) {}

Status Reception::Start(Fd listening) {
  if (!spare_.held()) return SystemError("/dev/null");
  listening_ = std::move(listening);
  VS_ASSIGN_OR_RETURN(
      watch_, loop_.Watch(listening_.get(), EPOLLIN, [this](uint32_t) { OnConnections(); }));
  return absl::OkStatus();
}

void Reception::OnConnections() {
  const Duration before = Spent();
  accepting_.Fill(Now());
  for (int i = 0; i < kMostAtOnce && Accept(); ++i) {
  }
  accepting_.Charge(Spent() - before);
  inspector_.Wake();
  if (!accepting_.empty()) return;
  // Whoever connects without end makes the others wait, but the daemon does not compute for it.
  paused_ = true;
  loop_.Expect(watch_, 0);
}

bool Reception::Accept() {
  Fd socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) {
    Admit(socket);
    HangUp(std::move(socket));  // Where it was not admitted.
    return true;
  }
  if (errno == EMFILE || errno == ENFILE) {
    spare_.TurnAway(listening_.get());
    Journal::Say("a process was turned away: there are no descriptors left (ulimit -n)");
    return true;
  }
  return errno == ECONNABORTED || errno == EINTR;
}

void Reception::Admit(Fd& socket) {
  StatusOr<Peer> peer = IdentifyPeer(socket.get(), proc_);
  if (!peer.ok())
    return Journal::Say(absl::StrCat("a connection is refused: ", peer.status().message()));
  const Instant now = Now();
  Account& account = accounts_.For(peer->cgroup, now);
  if (account.connections >= kMostConnections) {
    return Journal::Say(absl::StrCat("process ", peer->pid, " is refused: ", account.name, " has ",
                                     kMostConnections, " connections"));
  }
  auto owned = std::make_unique<Client>();
  Client& client = *owned;
  client.id = ProcessId(++last_);
  client.peer = *std::move(peer);
  client.account = &account;
  client.since = client.beat_at = now;
  const ProcessId id = client.id;
  const StatusOr<WatchId> reads =
      loop_.Watch(socket.get(), EPOLLIN, [this, id](uint32_t) { OnReadable(id); });
  if (!reads.ok()) return Journal::Say(reads.status().message());
  const StatusOr<WatchId> ends =
      loop_.Watch(client.peer.pidfd.get(), EPOLLIN, [this, id](uint32_t) { OnEnd(id); });
  if (!ends.ok()) {
    loop_.Forget(*reads);
    return Journal::Say(ends.status().message());
  }
  client.socket = std::move(socket);
  client.socket_watch = *reads;
  client.end_watch = *ends;
  ++account.connections;
  clients_[id] = std::move(owned);
}

void Reception::Resume(Instant now) {
  accepting_.Fill(now);
  if (paused_ && !accepting_.empty()) {
    paused_ = false;
    loop_.Expect(watch_, EPOLLIN);
  }
  if (paused_) inspector_.Wake();
  for (const auto& [id, client] : clients_) {
    if (!client->paused || !client->socket || client->account->allowance.empty()) continue;
    client->paused = false;
    loop_.Expect(client->socket_watch, EPOLLIN);
  }
}

void Reception::OnReadable(ProcessId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = *found->second;
  Allowance& allowance = client.account->allowance;
  allowance.Fill(Now());
  for (int i = 0; i < kMostAtOnce; ++i) {
    if (!client.socket) return;
    if (allowance.empty()) {
      // An end is still told of: it is read then.
      if (std::exchange(client.paused, true)) return dispatcher_.Drop(client, "");
      loop_.Expect(client.socket_watch, 0);
      return;
    }
    if (!ReadOne(client)) return;
  }
}

bool Reception::ReadOne(Client& client) {
  const Duration before = Spent();
  std::array<uint8_t, lease::kMostMessageSize + 1> buffer;
  const Received received = Receive(client.socket.get(), buffer);
  if (received.kind == Received::Kind::kNothing) return false;
  if (received.kind == Received::Kind::kEnd) {
    dispatcher_.Drop(client, "");
    // Who only comes and goes has cost what it costs to come.
    accepting_.Charge(Spent() - before);
    return false;
  }
  if (received.kind == Received::Kind::kDescriptors) {
    dispatcher_.Drop(client, "passes descriptors");
    client.account->allowance.Charge(Spent() - before);
    return false;
  }
  lease::Message message;
  const lease::Reading reading =
      lease::Decode(std::span(buffer).first(received.size), lease::Sender::kProcess, &message);
  const bool answers = reading == lease::Reading::kMessage && message.type == lease::Type::kAck;
  if (received.pid != client.peer.pid) {
    dispatcher_.Drop(client, "let another process speak");
  } else if (reading == lease::Reading::kMalformed) {
    dispatcher_.Drop(client, "says what is not the protocol");
  } else if (reading == lease::Reading::kMessage) {
    // What answers a question of the broker's is the broker's cost.
    const bool asked = answers && client.joined && Asked(client, message);
    Handle(client, message);
    if (asked) return static_cast<bool>(client.socket);
  }
  client.account->allowance.Charge(Spent() - before);
  return static_cast<bool>(client.socket);
}

void Reception::OnEnd(ProcessId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Client& client = *found->second;
  client.ended = true;
  loop_.Forget(std::exchange(client.end_watch, 0));
  dispatcher_.Drop(client, "");
  inspector_.LookAtDead(client);
}

}  // namespace vramspan::broker
