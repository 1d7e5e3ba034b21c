#include "tests/lease/scripted_broker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

namespace vramspan_test {
namespace {

using std::chrono::milliseconds;
using vramspan::lease::kPageSize;

bool Readable(int descriptor, milliseconds patience) {
  pollfd polled{descriptor, POLLIN, 0};
  return poll(&polled, 1, static_cast<int>(patience.count())) == 1;
}

int MakePage(Pages kind) {
  const int made = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const size_t size = kind == Pages::kShort ? kPageSize / 2 : kPageSize;
  if (ftruncate(made, static_cast<off_t>(size)) != 0) std::abort();
  if (kind != Pages::kUnsealed &&
      fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    std::abort();
  }
  return made;
}

}  // namespace

std::optional<Message> BrokersPeer::Receive(milliseconds patience) {
  if (socket_ < 0 || !Readable(socket_, patience)) return std::nullopt;
  std::array<uint8_t, vramspan::lease::kMostMessageSize> bytes;
  const ssize_t size = recv(socket_, bytes.data(), bytes.size(), 0);
  Message message;
  if (size <= 0 ||
      Decode(std::span(bytes).first(static_cast<size_t>(size)), vramspan::lease::Sender::kProcess,
             &message) != vramspan::lease::Reading::kMessage) {
    return std::nullopt;
  }
  return message;
}

std::optional<Message> BrokersPeer::Await(Type type, milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    std::optional<Message> message = Receive(left);
    if (!message.has_value() || message->type == type) return message;
  }
}

bool BrokersPeer::AwaitEnd(milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  char buffer[vramspan::lease::kMostMessageSize];
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !Readable(socket_, left)) return false;
    if (recv(socket_, buffer, sizeof(buffer), 0) <= 0) return true;
  }
}

void BrokersPeer::Send(const Message& message) {
  const auto bytes = Encode(message);
  SendBytes({bytes.begin(), bytes.end()});
}

void BrokersPeer::SendBytes(const std::vector<uint8_t>& bytes) {
  static_cast<void>(send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

void BrokersPeer::Welcome(const Message& hello, Bytes device_limit, Bytes host_limit, Pages pages) {
  const auto bytes = vramspan::lease::Encode({.type = Type::kWelcome,
                                              .bytes = device_limit,
                                              .more = host_limit,
                                              .time = milliseconds(20),
                                              .device = hello.device});
  revision = hello.type == Type::kAdopt ? hello.revision : 0;
  const int sent[] = {MakePage(pages), MakePage(pages)};
  void* const mapped = mmap(nullptr, kPageSize, PROT_READ, MAP_SHARED, sent[0], 0);
  page_ = static_cast<const uint64_t*>(mapped);
  iovec buffer{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(sent))] = {};
  msghdr header{};
  header.msg_iov = &buffer;
  header.msg_iovlen = 1;
  if (pages != Pages::kNone) {
    const size_t size = pages == Pages::kOne ? sizeof(int) : sizeof(sent);
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(size);
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(c), sent, size);
  }
  static_cast<void>(sendmsg(socket_, &header, MSG_NOSIGNAL));
  close(sent[0]);
  close(sent[1]);
}

void BrokersPeer::Grant(Memory memory, Bytes bytes) {
  Send({.type = Type::kGrant, .memory = memory, .revision = ++revision, .bytes = bytes});
}

void BrokersPeer::Recall(Memory memory, Bytes bytes, milliseconds time) {
  Send({.type = Type::kRecall,
        .memory = memory,
        .revision = ++revision,
        .bytes = bytes,
        .more = bytes,
        .time = time});
}

ProcessPage BrokersPeer::Page() const {
  std::array<uint64_t, ProcessPage::kWords> words = {};
  for (size_t i = 0; page_ != nullptr && i < words.size(); ++i) {
    words[i] = __atomic_load_n(&page_[i], __ATOMIC_ACQUIRE);
  }
  ProcessPage page;
  FromWords(words, &page);
  return page;
}

void BrokersPeer::Sleep() { std::this_thread::sleep_for(milliseconds(2)); }

void BrokersPeer::Close() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (page_ != nullptr) munmap(const_cast<uint64_t*>(page_), kPageSize);
  page_ = nullptr;
}

ScriptedBroker::ScriptedBroker(const std::string& folder)
    : path_(folder + "/broker.sock"), listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
  unlink(path_.c_str());
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener_, 16) != 0) {
    std::abort();
  }
}

ScriptedBroker::~ScriptedBroker() {
  close(listener_);
  unlink(path_.c_str());
}

std::unique_ptr<BrokersPeer> ScriptedBroker::Accept(milliseconds patience) {
  if (!Readable(listener_, patience)) return nullptr;
  const int accepted = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  return accepted < 0 ? nullptr : std::make_unique<BrokersPeer>(accepted);
}

}  // namespace vramspan_test
