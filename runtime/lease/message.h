// What a process and the broker say to each other: messages of 64 bytes (docs/broker-protocol.md).
//
// Pure: bytes in, values out. No message makes more of itself than the values it has.
#ifndef VRAMSPAN_RUNTIME_LEASE_MESSAGE_H_
#define VRAMSPAN_RUNTIME_LEASE_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/units.h"

namespace vramspan::lease {

inline constexpr uint16_t kVersion = 1;
inline constexpr size_t kMessageSize = 64;
// A later version may say more behind the first 64 bytes, up to this.
inline constexpr size_t kMostMessageSize = 1024;

enum class Sender : uint8_t { kProcess, kBroker };

// NOTE: others speak this too. Values are never changed or used again.
enum class Type : uint16_t {
  // From the process.
  kHello = 1,
  kAdopt = 2,
  kWant = 3,
  kAck = 4,
  kRoom = 5,
  kRoomBack = 6,
  kBye = 7,
  // From the broker.
  kWelcome = 129,
  kGrant = 130,
  kRecall = 131,
  kRoomGiven = 132,
  kTurn = 133,
  kRefuse = 134,
};

enum class Memory : uint8_t { kDevice = 0, kHost = 1 };
enum class AckCode : uint8_t { kDone = 0, kPartial = 1, kDeferred = 2 };
enum class TurnCode : uint8_t {
  kGiveEvict = 0,
  kTakeEvict = 1,
  kGiveFetch = 2,
  kTakeFetch = 3,
  kLetWork = 4,
  kHoldWork = 5,
};
enum class RefuseCode : uint8_t { kBusy = 1, kShare = 2, kNoRoom = 3, kNotNow = 4, kDenied = 5 };

// The page says which of the fields a type uses. The others are zero.
struct Message {
  Type type = Type::kBye;
  Memory memory = Memory::kDevice;
  uint8_t code = 0;
  uint64_t revision = 0;
  Bytes bytes, more, rest;
  Duration time{};  // Never negative.
  std::array<uint8_t, 16> device = {};

  bool operator==(const Message&) const = default;
};

std::array<uint8_t, kMessageSize> Encode(const Message& message);

enum class Reading : uint8_t {
  kMessage,    // It is in `message`.
  kIgnored,    // Nothing is wrong with it, but this version does not know what it says.
  kMalformed,  // Whoever sent this speaks something else: the connection ends.
};

// Reads one datagram, whole. `message` is changed for kMessage alone.
Reading Decode(std::span<const uint8_t> datagram, Sender sender, Message* message);

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_MESSAGE_H_
