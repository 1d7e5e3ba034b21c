// What a stranger says to the broker, or to a process in the broker's name (runtime/lease). The
// input is datagrams: two bytes with the length, and as many bytes. Each is read as of either
// sender. What is understood is within its bounds, and the same when it is written and read again.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "runtime/base/log.h"
#include "runtime/lease/message.h"
#include "runtime/lease/pages.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span<const uint8_t> rest(data, size);
  ReadPage<ProcessPage>(rest);
  ReadPage<BrokerPage>(rest);
  while (rest.size() >= 2) {
    const size_t length = std::min<size_t>(rest[0] | rest[1] << 8, rest.size() - 2);
    Read(rest.subspan(2, length));
    rest = rest.subspan(2 + length);
  }
  return 0;
}
