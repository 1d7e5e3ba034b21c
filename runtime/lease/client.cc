#include "runtime/lease/client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "runtime/base/private_descriptors.h"
#include "runtime/base/uncancellable.h"

namespace vramspan::lease {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestBeat{10}, kLongestBeat{1000};
// The broker looks for a new beat once in a time; so many tell it what is used, too.
constexpr int kBeatsInTime = 4;
// How long memory that cannot go, as it is pinned, is waited for.
constexpr std::chrono::seconds kEmptyPatience{5};
constexpr std::chrono::seconds kRoomPatience{1};
// Between two tries to join one that more processes than it takes wait for.
constexpr Duration kQueuePeriod = milliseconds(100);
// A broker that never stops talking does not keep the thread from its beat.
constexpr int kDatagramsInRound = 64;

// When to connect again is to differ among processes that lost the same broker.
uint64_t SomeNumber() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t number = static_cast<uint64_t>(now.tv_nsec) + (uint64_t(getpid()) << 32);
  return (number ^ number >> 29) * 0x9e3779b97f4a7c15 >> 16;
}

}  // namespace

StatusOr<std::unique_ptr<Client>> Client::Start(const BrokerPlace& place,
                                                const std::array<uint8_t, 16>& device,
                                                Member* member) {
  const Uncancellable now;
  const StatusOr<int> socket = Connection::Open(place.sockets);
  if (!socket.ok() && !absl::IsUnavailable(socket.status())) return socket.status();
  std::unique_ptr<Client> client(new Client(place, device, member));
  if (socket.ok()) client->connection_.Adopt(*socket);
  std::array<int, 2> pair = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) == 0) {
    client->wake_.Adopt(pair[0]);
    client->woken_.Adopt(pair[1]);
  }
  const LeftCopies copies({client->connection_.descriptor(), client->woken_.Get().value_or(-1)});
  VS_ASSIGN_OR_RETURN(client->thread_, StartThread(
                                           "vramspan-lease", [c = client.get()] { c->Run(); },
                                           [c = client.get()] { c->Fail(); }));
  bool is_private = false;
  {
    MutexLock lock(client->mu_);
    while (!client->left_) client->done_.Wait(client->mu_);
    is_private = client->private_;
  }
  if (is_private) copies.Close();
  return client;
}

Client::Client(const BrokerPlace& place, const std::array<uint8_t, 16>& device, Member* member)
    : place_(place), member_(*member), session_(device), period_(kLongestBeat) {}

Client::~Client() {
  {
    MutexLock lock(mu_);
    stop_ = true;
  }
  Look();
  thread_.Join();
}

void Client::Look() {
  if (looks_.exchange(true, std::memory_order_acq_rel)) return;
  const StatusOr<int> wake = wake_.Get();
  // Where the program has closed it, the thread looks at its next beat.
  if (wake.ok()) static_cast<void>(send(*wake, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool Client::AwaitGrants(milliseconds patience) {
  const auto until = Clock::now() + patience;
  MutexLock lock(mu_);
  while (!first_) {
    const auto left = until - Clock::now();
    if (left <= left.zero()) return false;
    done_.WaitFor(mu_, left);
  }
  return told_;
}

Bytes Client::AskRoom(Bytes bytes) {
  const auto until = Clock::now() + kRoomPatience;
  MutexLock lock(mu_);
  if (asked_ != Bytes(0) || stop_) return Bytes(0);
  asked_ = bytes;
  room_.reset();
  Look();
  while (!room_.has_value()) {
    const auto left = until - Clock::now();
    if (left <= left.zero()) break;
    done_.WaitFor(mu_, left);
  }
  // What comes later goes back at once.
  asked_ = Bytes(0);
  return room_.value_or(Bytes(0));
}

void Client::ReturnRoom(Bytes bytes) {
  {
    MutexLock lock(mu_);
    returned_ += bytes;
  }
  Look();
}

Instant Client::Now() { return Instant(Clock::now().time_since_epoch()); }

void Client::Fail() {
  // As if the broker had never been there, or had died: nobody waits for the thread.
  MutexLock lock(mu_);
  left_ = first_ = true;
  room_ = Bytes(0);
  stop_ = true;
  done_.NotifyAll();
}

void Client::LeaveTable() {
  const int socket = connection_.descriptor();
  const int woken = woken_.Get().value_or(-1);
  const std::array<int, 2> keep = {std::min(socket, woken), std::max(socket, woken)};
  const bool left = LeaveDescriptors(std::span(keep).subspan(keep[0] < 0 ? 1 : 0));
  if (!left) connection_.CloseInChildren();
  MutexLock lock(mu_);
  private_ = left;
  left_ = true;
  done_.NotifyAll();
}

void Client::Run() {
  LeaveTable();
  Effects effects;
  if (connection_.held()) {
    session_.Connected(member_.First(), effects);
    ++standing_.connections;
    Follow(effects);
  }
  while (TakeOrders()) {
    if (!connection_.held() && session_.state() != Session::State::kApart) {
      Disconnect("the program has closed its descriptor");
    }
    if (!connection_.held() && Now() >= next_try_) Connect();
    Hear();
    LookRound();
    TellMember();
    Pause();
  }
  effects.clear();
  session_.End(effects);
  Follow(effects);
}

void Client::Connect() {
  const StatusOr<int> socket = Connection::Open(place_.sockets);
  if (!socket.ok()) {
    // Who is in a queue that will move soon does not go away for long.
    const bool queue = absl::IsUnavailable(socket.status()) && standing_.connections == 0;
    next_try_ = Now() + (queue ? kQueuePeriod : ReconnectDelay(SomeNumber()));
    standing_.absent = absl::IsNotFound(socket.status()) && !standing_.told_device;
    return;
  }
  connection_.Adopt(*socket);
  ++standing_.connections;
  const ProcessPage page = member_.Page();
  Effects effects;
  session_.Connected({page.wanted_device, page.wanted_host}, effects);
  Follow(effects);
}

void Client::Disconnect(const char* why) {
  connection_.Close();
  standing_.ended = why;
  said_ = {};
  next_try_ = Now() + ReconnectDelay(SomeNumber());
  Effects effects;
  session_.Closed(effects);
  Follow(effects);
}

void Client::Hear() {
  if (!connection_.held()) return;
  Connection::Datagram datagram;
  for (int i = 0; i < kDatagramsInRound && connection_.held(); ++i) {
    switch (connection_.Receive(&datagram)) {
      case Connection::Reading::kNothing:
        return;
      case Connection::Reading::kEnded:
        return Disconnect("it closed the connection");
      case Connection::Reading::kDatagram:
        break;
    }
    Effects effects;
    session_.Received(Now(), datagram.text(), datagram.pages, effects);
    Follow(effects);
  }
}

void Client::Follow(const Effects& effects) {
  for (const Effect& effect : effects) {
    const Message& message = effect.message;
    switch (effect.kind) {
      case Effect::Kind::kSend:
        if (!connection_.Send(message)) return Disconnect("it takes no messages");
        break;
      case Effect::Kind::kWelcome:
        period_ = std::clamp<Duration>(message.time / kBeatsInTime, kShortestBeat, kLongestBeat);
        next_beat_ = Now();
        standing_.device_limit = message.bytes;
        standing_.host_limit = message.more;
        standing_.refusal = 0;
        break;
      case Effect::Kind::kGrant:
        (message.memory == Memory::kHost ? standing_.told_host : standing_.told_device) = true;
        if (standing_.told_device) standing_.absent = false;
        ++standing_.granted;
        break;
      case Effect::Kind::kRecall:
        ++standing_.recalled;
        break;
      case Effect::Kind::kDue:
        AnswerRecall(message.memory, /*due=*/true);
        break;
      case Effect::Kind::kRoom:
        OnRoom(message.bytes);
        break;
      case Effect::Kind::kEvictAll:
        standing_.told_host = false;
        // The next welcome brings other pages.
        connection_.pages().Drop();
        next_try_ = Now() + kEmptyPatience;
        break;
      case Effect::Kind::kRefused:
        standing_.refusal = message.code;
        break;
      case Effect::Kind::kClose:
        return Disconnect(effect.why);
    }
  }
}

void Client::OnRoom(Bytes bytes) {
  asking_ = false;
  MutexLock lock(mu_);
  if (asked_ != Bytes(0)) {
    room_ = bytes;
    done_.NotifyAll();
  } else {
    returned_ += bytes;
  }
}

bool Client::TakeOrders() {
  Bytes ask, back;
  {
    MutexLock lock(mu_);
    if (stop_) return false;
    if (!asking_ && !room_.has_value()) ask = asked_;
    back = std::exchange(returned_, Bytes(0));
  }
  Effects effects;
  if (ask != Bytes(0)) {
    asking_ = true;
    session_.AskRoom(ask, effects);
  }
  session_.ReturnRoom(back, effects);
  Follow(effects);
  return true;
}

void Client::AnswerRecall(Memory memory, bool due) {
  if (!due && !session_.Open(memory)) return;
  const Bytes given = session_.Given(memory, member_.Most(memory));
  if (given < session_.Recalled(memory) && !due) return;
  Effects effects;
  session_.Answer(memory, given, effects);
  Follow(effects);
}

void Client::SayWants(const Wants& wants) {
  if (session_.state() != Session::State::kMember || !said_.Says(wants, Now())) return;
  Effects effects;
  session_.Want(wants, effects);
  Follow(effects);
}

void Client::LookRound() {
  Effects effects;
  session_.TimePasses(Now(), effects);
  Follow(effects);
  AnswerRecall(Memory::kDevice, /*due=*/false);
  AnswerRecall(Memory::kHost, /*due=*/false);
  const Instant now = Now();
  if (session_.state() == Session::State::kBarred &&
      (member_.Most(Memory::kDevice) == Bytes(0) || now >= next_try_)) {
    const ProcessPage page = member_.Page();
    effects.clear();
    session_.Emptied({page.wanted_device, page.wanted_host}, effects);
    Follow(effects);
  }
  if (session_.state() != Session::State::kMember || !connection_.pages().mapped()) return;
  ProcessPage page = member_.Page();
  if (now >= next_beat_) {
    ++beat_;
    next_beat_ = now + period_;
  }
  page.beat = beat_;
  connection_.pages().Write(page);
  BrokerPage theirs;
  standing_.fenced = connection_.pages().Read(&theirs) && (theirs.flags & BrokerPage::kFenced) != 0;
  SayWants({page.wanted_device, page.wanted_host});
}

void Client::TellMember() {
  standing_.state = session_.state();
  standing_.grants = session_.grants();
  standing_.device_recalled = session_.Recalled(Memory::kDevice);
  standing_.host_recalled = session_.Recalled(Memory::kHost);
  standing_.hold_until = session_.hold_until();
  member_.Stands(standing_);
  // Whoever waits for the first word finds what the member was told.
  const bool told = standing_.told_device && standing_.told_host;
  MutexLock lock(mu_);
  if (first_ || !(told || standing_.absent || standing_.refusal != 0)) return;
  first_ = true;
  told_ = told;
  done_.NotifyAll();
}

void Client::Pause() {
  Instant until = Now() + Duration(kLongestBeat);
  const auto no_later_than = [&until](Instant at) { until = std::min(until, at); };
  if (!connection_.held() || session_.state() == Session::State::kBarred) no_later_than(next_try_);
  if (session_.state() == Session::State::kMember) {
    no_later_than(next_beat_);
    if (said_.next() > Now()) no_later_than(said_.next());
  }
  if (session_.Due()) no_later_than(*session_.Due());
  std::array<pollfd, 2> polled = {};
  polled[0] = {woken_.Get().value_or(-1), POLLIN, 0};
  polled[1] = {connection_.descriptor(),
               static_cast<short>(connection_.pending() ? POLLIN | POLLOUT : POLLIN), 0};
  const auto left = std::chrono::ceil<milliseconds>(until - Now()).count();
  poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(left, 0)));
  if (polled[0].revents != 0) {
    char byte;
    while (recv(polled[0].fd, &byte, 1, MSG_DONTWAIT) > 0) continue;
  }
  // What is asked from here on wakes again.
  looks_.store(false, std::memory_order_release);
  if ((polled[1].revents & POLLOUT) != 0 && !connection_.Flush()) Disconnect("it is gone");
}

}  // namespace vramspan::lease
