// Messages: their bytes, one by one, and what is no message.
#include "runtime/lease/message.h"

#include <gtest/gtest.h>

#include <vector>

namespace vramspan::lease {
namespace {

using Datagram = std::vector<uint8_t>;

Datagram BytesOf(const Message& message) {
  const auto bytes = Encode(message);
  return {bytes.begin(), bytes.end()};
}

Message Recall() {
  return {.type = Type::kRecall,
          .memory = Memory::kHost,
          .revision = 0x0102030405060708,
          .bytes = MiB(256),
          .more = MiB(1),
          .rest = GiB(8),
          .time = std::chrono::milliseconds(250)};
}

TEST(LeaseMessage, BytesAreAsThePageSays) {
  Message message = Recall();
  message.device = {0xd0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xdf};
  const Datagram expected = {
      1,    0, 64, 0,  131, 0, 1, 0, 8,    7,    6,    5,    4,  3,  2,  1,  // header, revision
      0,    0, 0,  16, 0,   0, 0, 0, 0,    0,    16,   0,    0,  0,  0,  0,  // bytes, more
      0,    0, 0,  0,  2,   0, 0, 0, 0x80, 0xb2, 0xe6, 0x0e, 0,  0,  0,  0,  // rest, time
      0xd0, 1, 2,  3,  4,   5, 6, 7, 8,    9,    10,   11,   12, 13, 14, 0xdf};
  EXPECT_EQ(BytesOf(message), expected);
}

TEST(LeaseMessage, EveryTypeIsReadAsItWasWritten) {
  for (const auto& [sender, types] :
       {std::pair(Sender::kProcess, std::vector{Type::kHello, Type::kAdopt, Type::kWant, Type::kAck,
                                                Type::kRoom, Type::kRoomBack, Type::kBye}),
        std::pair(Sender::kBroker, std::vector{Type::kWelcome, Type::kGrant, Type::kRecall,
                                               Type::kRoomGiven, Type::kTurn, Type::kRefuse})}) {
    for (const Type type : types) {
      Message message = Recall();
      message.type = type;
      message.memory = Memory::kDevice;
      message.code = type == Type::kRefuse ? 1 : 0;
      Message read;
      EXPECT_EQ(Decode(BytesOf(message), sender, &read), Reading::kMessage);
      EXPECT_EQ(read, message);
      const Sender other = sender == Sender::kProcess ? Sender::kBroker : Sender::kProcess;
      EXPECT_EQ(Decode(BytesOf(message), other, &read), Reading::kMalformed);
    }
  }
}

TEST(LeaseMessage, WhatIsNotKnownIsIgnored) {
  Message read;
  Datagram bytes = BytesOf(Recall());
  bytes[4] = 200;
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kIgnored);
  bytes = BytesOf(Recall());
  bytes[6] = 2;
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kIgnored);
  bytes = BytesOf({.type = Type::kAck, .code = 3});
  EXPECT_EQ(Decode(bytes, Sender::kProcess, &read), Reading::kIgnored);
  bytes = BytesOf({.type = Type::kRefuse, .code = 0});
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kIgnored);
  EXPECT_EQ(read, Message());
}

TEST(LeaseMessage, FieldsThatATypeDoesNotHaveAreNotLookedAt) {
  Datagram bytes = BytesOf({.type = Type::kWant});
  bytes[6] = 77;
  bytes[7] = 77;
  Message read;
  EXPECT_EQ(Decode(bytes, Sender::kProcess, &read), Reading::kMessage);
  EXPECT_EQ(read, Message{.type = Type::kWant});
}

TEST(LeaseMessage, ALaterVersionIsUnderstoodAsFarAsItIsKnown) {
  Datagram bytes = BytesOf(Recall());
  bytes[0] = 9;
  bytes[2] = 72;
  bytes.resize(72, 0xff);
  Message read;
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kMessage);
  EXPECT_EQ(read, Recall());
}

TEST(LeaseMessage, WhatIsNoMessageEndsTheConnection) {
  const Datagram good = BytesOf(Recall());
  Message read;
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(Decode(std::span(good).first(size), Sender::kBroker, &read), Reading::kMalformed);
  }
  Datagram bytes = good;
  bytes.resize(63);
  bytes[2] = 63;
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kMalformed);
  bytes = good;
  bytes[0] = 0;
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kMalformed);
  bytes = good;
  bytes[2] = 65;
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kMalformed);
  bytes = good;
  bytes.push_back(0);
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kMalformed);
  bytes.resize(kMostMessageSize + 1);
  bytes[2] = 0x01;
  bytes[3] = 0x04;
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kMalformed);
  EXPECT_EQ(read, Message());
}

TEST(LeaseMessage, TimesAreNeverNegative) {
  Datagram bytes = BytesOf(Recall());
  for (size_t i = 40; i < 48; ++i) bytes[i] = 0xff;
  Message read;
  EXPECT_EQ(Decode(bytes, Sender::kBroker, &read), Reading::kMessage);
  EXPECT_EQ(read.time, Duration::max());
  Message message = Recall();
  message.time = Duration(-1);
  EXPECT_EQ(Decode(BytesOf(message), Sender::kBroker, &read), Reading::kMessage);
  EXPECT_EQ(read.time, Duration(0));
}

}  // namespace
}  // namespace vramspan::lease
