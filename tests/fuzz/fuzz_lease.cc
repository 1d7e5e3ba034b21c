// What a stranger says to the broker, or to a process in the broker's name (runtime/lease). The
// input is datagrams: two bytes with the length, and as many bytes. Each is read as of either
// sender. What is understood is within its bounds, and the same when it is written and read again.
// A session hears them all as the broker's (runtime/lease/session.h): it holds no more than it was
// granted, answers each recall once at most, and comes back after it left.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "runtime/base/log.h"
#include "runtime/lease/message.h"
#include "runtime/lease/pages.h"
#include "runtime/lease/session.h"

namespace {

using namespace vramspan::lease;  // NOLINT

void Read(std::span<const uint8_t> datagram) {
  int understood = 0;
  for (const Sender sender : {Sender::kProcess, Sender::kBroker}) {
    Message message{.type = Type::kBye, .revision = 77};
    const Message before = message;
    const Reading reading = Decode(datagram, sender, &message);
    if (reading != Reading::kMessage) {
      VS_CHECK(message == before);
      continue;
    }
    ++understood;
    VS_CHECK(message.time >= vramspan::Duration(0));
    VS_CHECK(message.memory <= Memory::kHost);
    Message again;
    VS_CHECK(Decode(Encode(message), sender, &again) == Reading::kMessage && again == message);
  }
  // No message may come from both.
  VS_CHECK(understood <= 1);
}

template <typename Page>
void ReadPage(std::span<const uint8_t> bytes) {
  std::array<uint64_t, Page::kWords> words = {};
  std::memcpy(words.data(), bytes.data(), std::min(bytes.size(), sizeof(words)));
  Page page, again;
  if (!FromWords(words, &page)) return;
  VS_CHECK(FromWords(ToWords(page), &again) && again == page);
}

// What a session does with what a broker says, whatever that is.
class Listener {
 public:
  Listener() { session_.Connected({}, effects_); }

  void Hear(std::span<const uint8_t> datagram) {
    effects_.clear();
    // The first byte past the message's own says whether pages came with it, and what the process
    // does meanwhile.
    const uint8_t turn = datagram.empty() ? 0 : datagram.back();
    session_.Received(now_, datagram, (turn & 1) == 0, effects_);
    const Effects said = effects_;
    for (const Effect& effect : said) Follow(effect, turn);
    now_ += std::chrono::milliseconds(turn);
    session_.TimePasses(now_, effects_);
    if ((turn & 6) == 6) session_.AskRoom(vramspan::Bytes(turn), effects_);
  }

 private:
  void Follow(const Effect& effect, uint8_t turn) {
    using Kind = Effect::Kind;
    const Grants before = session_.grants();
    const Memory memory = effect.message.memory;
    if (effect.kind == Kind::kRecall) {
      const vramspan::Bytes recalled = session_.Recalled(memory);
      const vramspan::Bytes grant = memory == Memory::kHost ? before.host : before.device;
      VS_CHECK(recalled <= grant);
      if ((turn & 8) != 0) return;
      session_.Answer(memory, vramspan::Bytes(recalled.value / 2), effects_);
      VS_CHECK(session_.Recalled(memory) == vramspan::Bytes(0));
      const size_t answers = effects_.size();
      session_.Answer(memory, recalled, effects_);
      VS_CHECK(effects_.size() == answers);
    } else if (effect.kind == Kind::kEvictAll) {
      VS_CHECK(before == Grants());
      session_.Emptied({}, effects_);
    } else if (effect.kind == Kind::kClose) {
      session_.Closed(effects_);
      VS_CHECK(session_.grants().device == before.device && session_.grants().host == before.host);
      VS_CHECK(!session_.Due().has_value());
      session_.Connected({}, effects_);
      VS_CHECK(session_.state() == Session::State::kGreeting);
    }
  }

  Session session_{{}};
  Effects effects_;
  vramspan::Instant now_{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> rest(data, size);
  ReadPage<ProcessPage>(rest);
  ReadPage<BrokerPage>(rest);
  Listener listener;
  while (rest.size() >= 2) {
    const size_t length = std::min<size_t>(rest[0] | rest[1] << 8, rest.size() - 2);
    Read(rest.subspan(2, length));
    listener.Hear(rest.subspan(2, length));
    rest = rest.subspan(2 + length);
  }
  return 0;
}
