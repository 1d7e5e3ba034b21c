#include "tests/broker/server/program.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/base/log.h"

namespace vramspan::broker_test {
namespace {

using lease::Message;
using lease::Type;

constexpr auto kPatience = std::chrono::seconds(40);
constexpr int kBeatMs = 100;

int ConnectTo(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (result != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

// Passes a datagram on, with up to two descriptors, which are the caller's then.
ssize_t Pass(int from, int to, int* fds) {
  char buffer[2048];
  iovec vector = {buffer, sizeof buffer};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(from, &message, 0);
  if (size <= 0) return size;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    memcpy(fds, CMSG_DATA(header), 2 * sizeof(int));
  }
  vector.iov_len = static_cast<size_t>(size);
  message.msg_controllen = header == nullptr ? 0 : sizeof control;
  if (header == nullptr) message.msg_control = nullptr;
  VS_CHECK(sendmsg(to, &message, MSG_NOSIGNAL) == size);
  return size;
}

void SpeakAsAChild(int broker) {
  const pid_t child = fork();
  if (child == 0) {
    const auto bytes = lease::Encode({.type = Type::kHello, .device = kDevice});
    send(broker, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

// What the child does. 1 byte from the test is a command, all else is for the broker.
[[noreturn]] void RunChild(int test, const std::string& path) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int broker = -1;
  bool reads = true;
  uint64_t* page = nullptr;
  for (;;) {
    pollfd polls[2] = {{test, POLLIN, 0}, {reads ? broker : -1, POLLIN, 0}};
    poll(polls, 2, kBeatMs);
    if (page != nullptr) __atomic_fetch_add(page + 2, 1, __ATOMIC_RELAXED);
    if (polls[0].revents != 0) {
      char buffer[2048];
      const ssize_t size = recv(test, buffer, sizeof buffer, 0);
      if (size <= 0) _exit(0);
      if (size > 1) {
        if (broker >= 0) send(broker, buffer, static_cast<size_t>(size), MSG_NOSIGNAL);
      } else if (buffer[0] == 'c') {
        if (broker >= 0) close(broker);
        broker = ConnectTo(path);
        const char result = broker >= 0 ? 'C' : 'X';
        send(test, &result, 1, MSG_NOSIGNAL);
        // What came of the former connection is not of this one.
        continue;
      } else if (buffer[0] == 'n') {
        reads = false;
      } else if (buffer[0] == 'f') {
        SpeakAsAChild(broker);
      }
    }
    if (polls[1].revents != 0) {
      int fds[2] = {-1, -1};
      if (Pass(broker, test, fds) <= 0) {
        close(broker);
        broker = -1;
        send(test, "E", 1, MSG_NOSIGNAL);
      }
      if (fds[0] >= 0) {
        void* const at =
            mmap(nullptr, lease::kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
        VS_CHECK(at != MAP_FAILED);
        page = static_cast<uint64_t*>(at);
        close(fds[0]);
        close(fds[1]);
      }
    }
  }
}

}  // namespace

Program::Program(const Daemon& daemon, const std::string& cgroup) {
  int pair[2];
  VS_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
  const std::string path = daemon.run() + "/broker.sock";
  pid_ = fork();
  VS_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    // Others' ends are not its own.
    for (int fd = 3; fd < 1024; ++fd) {
      if (fd != pair[1]) close(fd);
    }
    RunChild(pair[1], path);
  }
  close(pair[1]);
  channel_ = pair[0];
  daemon.PutInto(pid_, cgroup);
  Reconnect();
}

Program::~Program() {
  if (pid_ > 0) Kill();
  close(channel_);
  for (const int fd : fds_) {
    if (fd >= 0) close(fd);
  }
}

void Program::Reconnect() {
  ended_ = welcomed_ = false;
  grant_ = host_ = Bytes();
  Command('c');
  char answer = 0;
  while (recv(channel_, &answer, 1, 0) == 1 && answer != 'C') VS_CHECK(answer != 'X');
}

void Program::Command(char command) { VS_CHECK(send(channel_, &command, 1, MSG_NOSIGNAL) == 1); }

bool Program::SendRaw(std::span<const uint8_t> datagram) {
  VS_CHECK(datagram.size() != 1);
  return send(channel_, datagram.data(), datagram.size(), MSG_NOSIGNAL) >= 0;
}

void Program::Send(const Message& message) { SendRaw(lease::Encode(message)); }

void Program::Hello(Bytes device, Bytes host) {
  used_ = used_host_ = Bytes();
  wanted_ = device;
  wanted_host_ = host;
  said_hello_ = true;
  Send({.type = Type::kHello, .bytes = device, .more = host, .device = kDevice});
}

void Program::Adopt(Bytes device, Bytes host, uint64_t last_revision) {
  said_hello_ = false;
  Send({.type = Type::kAdopt,
        .revision = last_revision,
        .bytes = device,
        .more = host,
        .device = kDevice});
}

void Program::WritePage() {
  if (fds_[0] < 0) return;
  void* const at = mmap(nullptr, lease::kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, fds_[0], 0);
  VS_CHECK(at != MAP_FAILED);
  auto* const page = static_cast<uint64_t*>(at);
  const auto words = lease::ToWords(lease::ProcessPage{.used_device = used_,
                                                       .used_host = used_host_,
                                                       .wanted_device = wanted_,
                                                       .wanted_host = wanted_host_,
                                                       .stalled = stalled_});
  for (size_t i = 0; i < words.size(); ++i) {
    if (i != 2) __atomic_store_n(page + i, words[i], __ATOMIC_RELEASE);
  }
  munmap(at, lease::kPageSize);
}

void Program::Say(Bytes used, Bytes wanted) {
  used_ = used;
  wanted_ = wanted;
  wanted_host_ = Bytes();
  WritePage();
  Send({.type = Type::kWant, .bytes = wanted});
}

void Program::BeGreedy(Bytes all) {
  greedy_ = true;
  all_ = all;
  Hello(all, GiB(1));
}

void Program::Signal(int number) const { VS_CHECK(kill(pid_, number) == 0); }

void Program::Kill() {
  Signal(SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Program::Take() {
  for (;;) {
    uint8_t buffer[2048];
    iovec vector = {buffer, sizeof buffer};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(channel_, &header, MSG_DONTWAIT);
    if (size <= 0) return;
    if (size == 1) {
      ended_ = true;
      continue;
    }
    const cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    if (rights != nullptr) memcpy(fds_, CMSG_DATA(rights), sizeof fds_);
    Message message;
    VS_CHECK(lease::Decode({buffer, static_cast<size_t>(size)}, lease::Sender::kBroker, &message) ==
             lease::Reading::kMessage);
    Hear(message);
  }
}

void Program::Hear(const Message& message) {
  heard_.push_back(message);
  if (message.type == Type::kWelcome) {
    welcomed_ = true;
    // What it said is on its page. Without one nobody sees it beat, and it is stuck after 2 s.
    if (said_hello_) WritePage();
  }
  if (message.type == Type::kRecall && answers_) GiveBack(message);
  if (message.type != Type::kGrant) return;
  (message.memory == lease::Memory::kHost ? host_ : grant_) = message.bytes;
  if (!greedy_ || message.memory == lease::Memory::kHost) return;
  Say(std::min(grant_, all_), all_ - std::min(grant_, all_));
}

void Program::GiveBack(const Message& recall) {
  if (recall.memory == lease::Memory::kDevice) {
    used_ -= std::min(used_, recall.bytes);
    used_host_ += recall.more;
    if (greedy_) wanted_ = all_ - std::min(all_, used_);
    WritePage();
  }
  Send({.type = Type::kAck,
        .memory = recall.memory,
        .code = static_cast<uint8_t>(lease::AckCode::kDone),
        .revision = recall.revision,
        .bytes = recall.bytes});
}

int Program::Count(Type type) const {
  return static_cast<int>(std::count_if(heard_.begin(), heard_.end(),
                                        [&](const Message& m) { return m.type == type; }));
}

lease::BrokerPage Program::page() const {
  lease::BrokerPage page;
  void* const at = mmap(nullptr, lease::kPageSize, PROT_READ, MAP_SHARED, fds_[1], 0);
  VS_CHECK(at != MAP_FAILED);
  std::array<uint64_t, lease::BrokerPage::kWords> words;
  memcpy(words.data(), at, sizeof words);
  munmap(at, lease::kPageSize);
  VS_CHECK(lease::FromWords(words, &page));
  return page;
}

bool Until(std::vector<Program*> programs, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    for (Program* const program : programs) program->Take();
    if (done()) return true;
    std::vector<pollfd> polls;
    for (const Program* const program : programs) polls.push_back({program->channel(), POLLIN, 0});
    poll(polls.data(), polls.size(), 20);
  }
  return false;
}

Bytes DeviceUse(const Daemon& daemon, const Program& program) {
  for (const std::string& line : daemon.Ask(R"({"verb":"status"})")) {
    const auto object = nlohmann::json::parse(line);
    if (object["kind"] != "process" || object["pid"] != program.pid()) continue;
    return Bytes(object["device_memory"]["used_bytes"].get<uint64_t>());
  }
  return Bytes();
}

bool Serves(const Daemon& daemon, const std::string& cgroup) {
  Program p(daemon, cgroup);
  p.Hello(MiB(2));
  return Until({&p}, [&] { return p.welcomed() || p.ended(); }) && p.welcomed();
}

}  // namespace vramspan::broker_test
