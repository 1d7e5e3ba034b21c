#include "runtime/lease/message.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/lease/words.h"

namespace vramspan::lease {
namespace {

// Where the fields lie.
constexpr size_t kVersionAt = 0, kSizeAt = 2, kTypeAt = 4, kMemoryAt = 6, kCodeAt = 7;
constexpr size_t kRevisionAt = 8, kBytesAt = 16, kMoreAt = 24, kRestAt = 32, kTimeAt = 40;
constexpr size_t kDeviceAt = 48;

// What a type needs to be understood.
struct Rule {
  Type type;
  Sender sender;
  bool memory = false;  // It is about one kind of memory.
  uint8_t first_code = 0, last_code = 0;
};

constexpr Rule kRules[] = {
    {Type::kHello, Sender::kProcess},
    {Type::kAdopt, Sender::kProcess},
    {Type::kWant, Sender::kProcess},
    {Type::kAck, Sender::kProcess, true, 0, static_cast<uint8_t>(AckCode::kDeferred)},
    {Type::kRoom, Sender::kProcess},
    {Type::kRoomBack, Sender::kProcess},
    {Type::kBye, Sender::kProcess},
    {Type::kWelcome, Sender::kBroker},
    {Type::kGrant, Sender::kBroker, true},
    {Type::kRecall, Sender::kBroker, true},
    {Type::kRoomGiven, Sender::kBroker},
    {Type::kTurn, Sender::kBroker, false, 0, static_cast<uint8_t>(TurnCode::kHoldWork)},
    {Type::kRefuse, Sender::kBroker, false, 1, static_cast<uint8_t>(RefuseCode::kDenied)},
};

const Rule* RuleOf(uint16_t type) {
  const auto* const rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) {
    return static_cast<uint16_t>(r.type) == type;
  });
  return rule == std::end(kRules) ? nullptr : rule;
}

Duration ToDuration(uint64_t nanoseconds) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return Duration(static_cast<int64_t>(std::min(nanoseconds, kMost)));
}

}  // namespace

std::array<uint8_t, kMessageSize> Encode(const Message& message) {
  std::array<uint8_t, kMessageSize> bytes = {};
  Put(std::span<uint8_t>(bytes), kVersionAt, kVersion);
  Put(std::span<uint8_t>(bytes), kSizeAt, static_cast<uint16_t>(kMessageSize));
  Put(std::span<uint8_t>(bytes), kTypeAt, static_cast<uint16_t>(message.type));
  bytes[kMemoryAt] = static_cast<uint8_t>(message.memory);
  bytes[kCodeAt] = message.code;
  Put(std::span<uint8_t>(bytes), kRevisionAt, message.revision);
  Put(std::span<uint8_t>(bytes), kBytesAt, message.bytes.value);
  Put(std::span<uint8_t>(bytes), kMoreAt, message.more.value);
  Put(std::span<uint8_t>(bytes), kRestAt, message.rest.value);
  Put(std::span<uint8_t>(bytes), kTimeAt,
      static_cast<uint64_t>(std::max<int64_t>(message.time.count(), 0)));
  std::copy(message.device.begin(), message.device.end(), bytes.begin() + kDeviceAt);
  return bytes;
}

Reading Decode(std::span<const uint8_t> datagram, Sender sender, Message* message) {
  if (datagram.size() < kMessageSize || datagram.size() > kMostMessageSize) {
    return Reading::kMalformed;
  }
  if (Get<uint16_t>(datagram, kVersionAt) == 0) return Reading::kMalformed;
  if (Get<uint16_t>(datagram, kSizeAt) != datagram.size()) return Reading::kMalformed;
  const Rule* const rule = RuleOf(Get<uint16_t>(datagram, kTypeAt));
  if (rule == nullptr) return Reading::kIgnored;
  if (rule->sender != sender) return Reading::kMalformed;
  const uint8_t memory = datagram[kMemoryAt];
  const uint8_t code = datagram[kCodeAt];
  // Kinds of memory and codes that came later are as types that did.
  if (rule->memory && memory > static_cast<uint8_t>(Memory::kHost)) return Reading::kIgnored;
  const bool coded = rule->last_code > 0;
  if (coded && (code < rule->first_code || code > rule->last_code)) return Reading::kIgnored;
  *message = Message{.type = rule->type,
                     .memory = rule->memory ? static_cast<Memory>(memory) : Memory::kDevice,
                     .code = coded ? code : uint8_t{0},
                     .revision = Get<uint64_t>(datagram, kRevisionAt),
                     .bytes = Bytes(Get<uint64_t>(datagram, kBytesAt)),
                     .more = Bytes(Get<uint64_t>(datagram, kMoreAt)),
                     .rest = Bytes(Get<uint64_t>(datagram, kRestAt)),
                     .time = ToDuration(Get<uint64_t>(datagram, kTimeAt))};
  std::copy_n(datagram.begin() + kDeviceAt, message->device.size(), message->device.begin());
  return Reading::kMessage;
}

}  // namespace vramspan::lease
