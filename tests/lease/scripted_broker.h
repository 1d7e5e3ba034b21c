// A broker that does what a test tells it to: a real socket, and no rules. It has no thread, so one
// that says nothing is as good as one that was stopped.
#ifndef VRAMSPAN_TESTS_LEASE_SCRIPTED_BROKER_H_
#define VRAMSPAN_TESTS_LEASE_SCRIPTED_BROKER_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/lease/message.h"
#include "runtime/lease/pages.h"

namespace vramspan_test {

using vramspan::Bytes;
using vramspan::lease::Memory;
using vramspan::lease::Message;
using vramspan::lease::ProcessPage;
using vramspan::lease::Type;

// What a welcome may be sent with.
enum class Pages { kSealed, kUnsealed, kShort, kOne, kNone };

class BrokersPeer {
 public:
  explicit BrokersPeer(int socket) : socket_(socket) {}
  ~BrokersPeer() { Close(); }

  // The next message; none within the time, or the connection has ended.
  std::optional<Message> Receive(std::chrono::milliseconds patience = std::chrono::seconds(10));
  // The next message of this type; others are passed over.
  std::optional<Message> Await(Type type,
                               std::chrono::milliseconds patience = std::chrono::seconds(10));
  bool AwaitEnd(std::chrono::milliseconds patience = std::chrono::seconds(10));
  void Send(const Message& message);
  void SendBytes(const std::vector<uint8_t>& bytes);
  // As `hello` or `adopt` was answered, with pages of its own.
  void Welcome(const Message& hello, Bytes device_limit = Bytes(~uint64_t{0}),
               Bytes host_limit = Bytes(~uint64_t{0}), Pages pages = Pages::kSealed);
  // With the next revision.
  void Grant(Memory memory, Bytes bytes);
  void Recall(Memory memory, Bytes bytes, std::chrono::milliseconds time);
  ProcessPage Page() const;
  // Polls the page until it holds of it.
  template <typename Holds>
  bool AwaitPage(Holds holds, std::chrono::milliseconds patience = std::chrono::seconds(10)) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!holds(Page())) {
      if (std::chrono::steady_clock::now() > until) return false;
      Sleep();
    }
    return true;
  }
  void Close();

  uint64_t revision = 0;  // The last that was used.

 private:
  static void Sleep();
  int socket_;
  const uint64_t* page_ = nullptr;
};

class ScriptedBroker {
 public:
  // Listens at `folder`/broker.sock; a broker that was there is no more.
  explicit ScriptedBroker(const std::string& folder);
  ~ScriptedBroker();

  // The next process that connects; null within the time.
  std::unique_ptr<BrokersPeer> Accept(
      std::chrono::milliseconds patience = std::chrono::seconds(10));

 private:
  std::string path_;
  int listener_;
};

}  // namespace vramspan_test

#endif  // VRAMSPAN_TESTS_LEASE_SCRIPTED_BROKER_H_
