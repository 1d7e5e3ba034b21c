#include "runtime/preload/ipc_server.h"

#include <absl/strings/str_cat.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/private_descriptors.h"
#include "runtime/base/thread.h"

namespace vramspan::preload {
namespace {

// For a peer to say something, or to take the next thing.
constexpr std::chrono::seconds kPeerPatience{2};
// How often what the driver has failed at is looked for, while it is at work.
constexpr std::chrono::milliseconds kLook{20};
constexpr std::chrono::milliseconds kAfterFailure{100};
// In a table that the program shares: whether the socket is there still.
constexpr std::chrono::seconds kLookAtSocket{1};
constexpr int kBacklog = 128;
constexpr size_t kMostPeers = 64;
constexpr int kAcceptsInRound = 64;
// So many pieces are exported ahead of what a peer has taken.
constexpr uint64_t kAhead = 8;
constexpr size_t kMostSaid = 16;

// What answers is the parent's. Only of a socket in the program's table, which a child copies.
void CloseInChildren(OwnDescriptor* listener) {
  static OwnDescriptor* inherited = nullptr;
  inherited = listener;
  pthread_atfork(nullptr, nullptr, [] { inherited->Close(); });
}

Status NotYet() { return absl::DeadlineExceededError("it sends nothing, or does not read"); }

}  // namespace

StatusOr<uint64_t> IpcServer::Start() {
  const auto failed = [this](const Status& status) {
    MutexLock lock(mu_);
    return status_ = status;
  };
  uint64_t key = 0;
  VS_RETURN_IF_ERROR(FillRandom(&key, sizeof(key)));
  VS_RETURN_IF_ERROR(FillRandom(secret_.data(), sizeof(secret_)));
  key |= 1;  // None is 0.
  address_ = AddressOf(getpid(), key);
  VS_ASSIGN_OR_RETURN(Thread exporting, StartThread("vramspan-export", [this] { ExportLoop(); }));
  exporting.Detach();
  running_ = true;
  StatusOr<Thread> serving = StartThread("vramspan-ipc", [this] { Serve(); });
  if (!serving.ok()) return failed(serving.status());
  serving->Detach();
  MutexLock lock(mu_);
  while (!tried_) opened_.Wait(mu_);
  VS_RETURN_IF_ERROR(status_);
  return key;
}

Status IpcServer::gone() const {
  if (shared_.load(std::memory_order_acquire)) VS_RETURN_IF_ERROR(listener_.Get().status());
  MutexLock lock(mu_);
  return status_;
}

void IpcServer::Say(LogLevel level, std::string text) {
  if (LogThreshold() < level) return;
  MutexLock lock(mu_);
  if (said_.size() < kMostSaid) said_.emplace_back(level, std::move(text));
  work_.NotifyAll();
}

void IpcServer::SayRefused(const Status& why) {
  Say(LogLevel::kInfo,
      absl::StrCat("a process that asked for shared memory did not get it: ", why.message()));
}

void IpcServer::Serve() {
  const OwnCalls own;
  Status status = Open();
  {
    MutexLock lock(mu_);
    tried_ = true;
    status_ = status;
    opened_.NotifyAll();
  }
  if (!status.ok()) return;
  while (status.ok()) {
    try {
      status = Round();
    } catch (const std::exception& e) {
      // No memory: whoever is connected asks again.
      peers_.clear();
      Say(LogLevel::kError, e.what());
    }
  }
  peers_.clear();
  Say(LogLevel::kWarning,
      absl::StrCat("legacy IPC handles of this process can no longer be opened: ",
                   status.message()));
  MutexLock lock(mu_);
  status_ = status;
}

Status IpcServer::Open() {
  if (LeaveDescriptors()) {
    // Whatever writes to these by their numbers writes to nobody.
    for (int i = 0; i <= STDERR_FILENO; ++i) {
      places_.emplace_back(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    }
  }
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return absl::UnavailableError(absl::StrCat("socket: ", strerror(errno)));
  listener_.Adopt(listener);
  if (places_.empty()) {
    shared_.store(true, std::memory_order_release);
    CloseInChildren(&listener_);
  }
  VS_ASSIGN_OR_RETURN(const int now, listener_.Get());
  if (bind(now, reinterpret_cast<const sockaddr*>(&address_.name), address_.size) != 0 ||
      listen(now, kBacklog) != 0) {
    return absl::UnavailableError(absl::StrCat("it gets no socket: ", strerror(errno)));
  }
  return absl::OkStatus();
}

Status IpcServer::Round() {
  TakeFailures();
  std::vector<pollfd> polled;
  VS_ASSIGN_OR_RETURN(const int listener, listener_.Get());
  const auto now = Clock::now();
  const bool accepts = now >= accepts_from_;
  polled.push_back({listener, static_cast<short>(accepts ? POLLIN : 0), 0});
  auto wait = std::chrono::milliseconds(-1);
  const auto no_longer_than = [&wait](Clock::duration d) {
    const auto ms =
        std::max(std::chrono::ceil<std::chrono::milliseconds>(d), std::chrono::milliseconds(0));
    if (wait.count() < 0 || ms < wait) wait = ms;
  };
  if (!accepts) no_longer_than(accepts_from_ - now);
  // poll does not tell that the number stands for something else.
  if (places_.empty()) no_longer_than(kLookAtSocket);
  for (const Peer& peer : peers_) {
    const StatusOr<int> socket = peer.socket.Get();
    const int events = !peer.asked ? POLLIN : peer.exporting() ? 0 : POLLOUT;
    polled.push_back({socket.value_or(-1), static_cast<short>(events), 0});
    if (!peer.delivers) {
      no_longer_than(peer.exporting() ? kLook : peer.since + kPeerPatience - now);
    }
  }
  if (poll(polled.data(), polled.size(), static_cast<int>(wait.count())) < 0 && errno != EINTR) {
    // No memory for it: the program's own affair, and it may pass.
    std::this_thread::sleep_for(kAfterFailure);
    return absl::OkStatus();
  }
  size_t next = 1;
  for (auto it = peers_.begin(); it != peers_.end();) {
    const auto peer = it++;
    const short events = polled[next++].revents;
    Status why = NotYet();
    bool stays = false;
    if (events == 0) {
      stays = peer->delivers || peer->exporting() || Clock::now() < peer->since + kPeerPatience;
    } else if ((events & (POLLIN | POLLOUT)) != 0) {
      stays = Attend(&*peer, &why);
    } else {
      why = absl::UnavailableError("it has closed the connection");
    }
    if (stays) continue;
    if (!why.ok() && !peer->delivers) SayRefused(why);
    peers_.erase(peer);
  }
  return accepts ? Accept() : absl::OkStatus();
}

Status IpcServer::Accept() {
  for (int i = 0; i < kAcceptsInRound; ++i) {
    VS_ASSIGN_OR_RETURN(const int listener, listener_.Get());
    OwnedFd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Out of descriptors, most likely, and that may pass.
      if (errno != EAGAIN) accepts_from_ = Clock::now() + kAfterFailure;
      return absl::OkStatus();
    }
    pid_t process = 0;
    if (const Status same = CheckPeer(socket.get(), &process); !same.ok()) {
      SayRefused(same);
      continue;
    }
    Peer& peer = peers_.emplace_back();
    peer.id = ++last_id_;
    peer.delivers = process == getpid();
    peer.socket.Adopt(socket.Give());
    peer.since = Clock::now();
    // What it wants is most likely there already.
    Status why;
    if (!Attend(&peer, &why)) {
      if (!why.ok()) SayRefused(why);
      peers_.pop_back();
    }
    if (peers_.size() > kMostPeers) DropOldestMute();
  }
  return absl::OkStatus();
}

void IpcServer::DropOldestMute() {
  const auto oldest = std::find_if(peers_.begin(), peers_.end(),
                                   [](const Peer& p) { return !p.asked && !p.delivers; });
  // They all wait for what they have asked for: so does the last to come.
  if (oldest == peers_.end()) return;
  Status why;
  if (!Attend(&*oldest, &why) || !oldest->asked) peers_.erase(oldest);
}

bool IpcServer::Attend(Peer* peer, Status* why) {
  *why = peer->asked ? Tell(peer) : Hear(peer);
  if (absl::IsDeadlineExceeded(*why)) return true;
  if (!why->ok()) return false;
  peer->since = Clock::now();
  return !peer->answered || peer->sent < peer->answer.pieces;
}

Status IpcServer::Hear(Peer* peer) {
  VS_ASSIGN_OR_RETURN(const int socket, peer->socket.Get());
  if (peer->delivers) return HearPiece(socket);
  VS_RETURN_IF_ERROR(
      ReceivePacket(socket, &peer->request, sizeof(peer->request), nullptr, MSG_DONTWAIT));
  if (peer->request.magic != kIpcMagic)
    return absl::DataLossError("it sent something that is not a request");
  peer->asked = true;
  peer->answer = describe_(peer->request);
  return Tell(peer);
}

Status IpcServer::HearPiece(int socket) {
  IpcDelivery delivery;
  OwnedFd fd;
  VS_RETURN_IF_ERROR(ReceivePacket(socket, &delivery, sizeof(delivery), &fd, MSG_DONTWAIT));
  if (delivery.magic != kIpcDeliveryMagic || delivery.secret != secret_) {
    return absl::DataLossError("a piece of the answer is damaged");
  }
  for (Peer& peer : peers_) {
    if (peer.id != delivery.peer || !peer.asked) continue;
    peer.pieces.push_back({delivery.piece, std::move(fd)});
    peer.since = Clock::now();
    break;
  }
  return absl::OkStatus();
}

Status IpcServer::Tell(Peer* peer) {
  VS_ASSIGN_OR_RETURN(const int socket, peer->socket.Get());
  if (!peer->answered) {
    VS_RETURN_IF_ERROR(SendPacket(socket, &peer->answer, sizeof(peer->answer), -1, MSG_DONTWAIT));
    peer->answered = true;
  }
  while (!peer->pieces.empty()) {
    const Piece& next = peer->pieces.front();
    VS_RETURN_IF_ERROR(
        SendPacket(socket, &next.piece, sizeof(next.piece), next.fd.get(), MSG_DONTWAIT));
    peer->pieces.pop_front();
    ++peer->sent;
  }
  if (peer->sent == peer->wanted && peer->sent < peer->answer.pieces) {
    peer->wanted = std::min(peer->sent + kAhead, peer->answer.pieces);
    MutexLock lock(mu_);
    jobs_.push_back({peer->id, peer->request, peer->sent, peer->wanted});
    work_.NotifyAll();
  }
  return absl::OkStatus();
}

void IpcServer::TakeFailures() {
  std::vector<Failure> failures;
  {
    MutexLock lock(mu_);
    failures.swap(failures_);
  }
  for (const Failure& failure : failures) {
    peers_.remove_if([&](const Peer& peer) { return peer.id == failure.peer; });
    SayRefused(failure.status);
  }
}

void IpcServer::ExportLoop() {
  const OwnCalls own;
  for (;;) {
    std::deque<std::pair<LogLevel, std::string>> said;
    Job job;
    {
      MutexLock lock(mu_);
      while (jobs_.empty() && said_.empty()) work_.Wait(mu_);
      said.swap(said_);
      if (!jobs_.empty()) {
        job = jobs_.front();
        jobs_.pop_front();
      }
    }
    for (const auto& [level, text] : said) Log(level, text);
    if (job.peer == 0) continue;
    Status status;
    try {
      status = Deliver(job);
    } catch (const std::exception& e) {
      status = absl::InternalError(e.what());
    }
    if (status.ok()) continue;
    MutexLock lock(mu_);
    failures_.push_back({job.peer, status});
  }
}

Status IpcServer::Deliver(const Job& job) {
  OwnDescriptor to;
  VS_ASSIGN_OR_RETURN(OwnedFd connected, ConnectTo(address_, kPeerPatience));
  to.Adopt(connected.Give());
  for (uint64_t i = job.from; i < job.to; ++i) {
    IpcDelivery delivery{kIpcDeliveryMagic, secret_, job.peer, {}};
    VS_ASSIGN_OR_RETURN(OwnedFd piece, export_(job.request, i, &delivery.piece));
    OwnDescriptor fd;
    fd.Adopt(piece.Give());
    VS_ASSIGN_OR_RETURN(const int number, fd.Get());
    VS_ASSIGN_OR_RETURN(const int socket, to.Get());
    VS_RETURN_IF_ERROR(SendPacket(socket, &delivery, sizeof(delivery), number));
  }
  return absl::OkStatus();
}

}  // namespace vramspan::preload
