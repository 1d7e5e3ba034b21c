#include "runtime/lease/session.h"

#include <algorithm>

namespace vramspan::lease {
namespace {

using Kind = Effect::Kind;

// The answer has a way to go, and whoever sends it may be late.
constexpr int kAnswerEarly = 8;  // By one part in so many of the time.

// However many take turns, and however long they are. A choice.
constexpr Duration kLongestHold = std::chrono::minutes(20);

void Send(const Message& message, Effects& effects) {
  effects.push_back({.kind = Kind::kSend, .message = message});
}

void Close(const char* why, Effects& effects) {
  effects.push_back({.kind = Kind::kClose, .why = why});
}

}  // namespace

Bytes Session::Recalled(Memory memory) const {
  const std::optional<OpenRecall>& open = OpenOf(memory);
  if (!open) return Bytes(0);
  return std::min(open->bytes, memory == Memory::kHost ? grants_.host : grants_.device);
}

Bytes Session::Given(Memory memory, Bytes most) const {
  const Bytes grant = memory == Memory::kHost ? grants_.host : grants_.device;
  return std::min(Recalled(memory), grant > most ? grant - most : Bytes(0));
}

std::optional<Instant> Session::Due() const {
  std::optional<Instant> due = hold_until_;
  for (const std::optional<OpenRecall>& open : open_) {
    if (open && !open->due && (!due || open->answer_by < *due)) due = open->answer_by;
  }
  return due;
}

void Session::Hello(const Wants& first, Effects& effects) {
  state_ = State::kGreeting;
  adopting_ = false;
  member_ = false;
  grants_ = {};
  Send({.type = Type::kHello, .bytes = first.device, .more = first.host, .device = device_},
       effects);
}

void Session::Connected(const Wants& first, Effects& effects) {
  if (!member_) return Hello(first, effects);
  state_ = State::kGreeting;
  adopting_ = true;
  Send({.type = Type::kAdopt,
        .revision = grants_.revision,
        .bytes = grants_.device,
        .more = grants_.host,
        .rest = grants_.room,
        .device = device_},
       effects);
}

void Session::Closed(Effects& effects) {
  state_ = State::kApart;
  open_ = {};
  may_evict_ = may_fetch_ = false;
  hold_until_.reset();
  RoomIs(Bytes(0), effects);
}

void Session::Received(Instant now, std::span<const uint8_t> datagram, bool pages,
                       Effects& effects) {
  Message message;
  switch (Decode(datagram, Sender::kBroker, &message)) {
    case Reading::kMalformed:
      return Close("it sent something that is no message", effects);
    case Reading::kIgnored:
      return;
    case Reading::kMessage:
      break;
  }
  if (message.type == Type::kWelcome) return OnWelcome(message, pages, effects);
  if (message.type == Type::kRefuse) return OnRefuse(message, effects);
  if (state_ != State::kMember) return Close("it spoke of memory before it welcomed", effects);
  if (message.type == Type::kGrant) return OnGrant(message, effects);
  if (message.type == Type::kRecall) return OnRecall(now, message, effects);
  if (message.type == Type::kTurn) return OnTurn(now, message);
  if (message.type == Type::kRoomGiven && room_asked_) RoomIs(message.bytes, effects);
}

void Session::OnWelcome(const Message& message, bool pages, Effects& effects) {
  if (state_ != State::kGreeting) return Close("it welcomed without being asked", effects);
  if (!pages) return Close("it welcomed without two sealed pages", effects);
  if (message.device != device_) return Close("it welcomed to another device", effects);
  state_ = State::kMember;
  member_ = true;
  effects.push_back({.kind = Kind::kWelcome, .message = message});
}

void Session::OnGrant(const Message& message, Effects& effects) {
  if (message.revision != grants_.revision + 1) {
    return Close("its revisions do not follow each other", effects);
  }
  grants_.revision = message.revision;
  GrantOf(message.memory) = message.bytes;
  effects.push_back({.kind = Kind::kGrant, .message = message});
}

void Session::OnRecall(Instant now, const Message& message, Effects& effects) {
  if (message.revision != grants_.revision + 1) {
    return Close("its revisions do not follow each other", effects);
  }
  grants_.revision = message.revision;
  // Longer than a day is as good as for ever, and must not overflow.
  const Duration time = std::min<Duration>(message.time, std::chrono::hours(24));
  open_[static_cast<size_t>(message.memory)] = OpenRecall{
      message, std::min(message.bytes, GrantOf(message.memory)), now + time - time / kAnswerEarly};
  effects.push_back({.kind = Kind::kRecall, .message = message});
}

void Session::OnRefuse(const Message& message, Effects& effects) {
  if (state_ == State::kMember) return RoomIs(Bytes(0), effects);
  if (state_ != State::kGreeting) return Close("it refused what was not asked", effects);
  if (adopting_ && message.code == static_cast<uint8_t>(RefuseCode::kNotNow)) {
    state_ = State::kBarred;
    grants_ = {};
    effects.push_back({.kind = Kind::kEvictAll, .message = message});
    return;
  }
  effects.push_back({.kind = Kind::kRefused, .message = message});
  Close("it refused", effects);
}

void Session::OnTurn(Instant now, const Message& message) {
  switch (static_cast<TurnCode>(message.code)) {
    case TurnCode::kGiveEvict:
    case TurnCode::kTakeEvict:
      may_evict_ = message.code == static_cast<uint8_t>(TurnCode::kGiveEvict);
      break;
    case TurnCode::kGiveFetch:
    case TurnCode::kTakeFetch:
      may_fetch_ = message.code == static_cast<uint8_t>(TurnCode::kGiveFetch);
      break;
    case TurnCode::kLetWork:
      hold_until_.reset();
      break;
    case TurnCode::kHoldWork:
      hold_until_ = now + std::min(message.time, kLongestHold);
      break;
  }
}

void Session::RoomIs(Bytes bytes, Effects& effects) {
  if (!room_asked_) return;
  // Nobody gives more than was asked for.
  bytes = std::min(bytes, *room_asked_);
  room_asked_.reset();
  grants_.room += bytes;
  effects.push_back({.kind = Kind::kRoom, .message = {.bytes = bytes}});
}

void Session::TimePasses(Instant now, Effects& effects) {
  if (hold_until_ && *hold_until_ <= now) hold_until_.reset();
  for (std::optional<OpenRecall>& open : open_) {
    if (!open || open->due || now < open->answer_by) continue;
    open->due = true;
    effects.push_back({.kind = Kind::kDue, .message = open->recall});
  }
}

void Session::Want(const Wants& wants, Effects& effects) {
  if (state_ != State::kMember) return;
  Send({.type = Type::kWant, .bytes = wants.device, .more = wants.host}, effects);
}

void Session::Answer(Memory memory, Bytes given, Effects& effects) {
  std::optional<OpenRecall>& open = open_[static_cast<size_t>(memory)];
  if (!open) return;
  const Bytes recalled = Recalled(memory);
  AckCode code = AckCode::kDone;
  if (given < recalled) code = given == Bytes(0) ? AckCode::kDeferred : AckCode::kPartial;
  given = std::min(given, recalled);
  Bytes& grant = GrantOf(memory);
  grant -= std::min(grant, given);
  Send({.type = Type::kAck,
        .memory = memory,
        .code = static_cast<uint8_t>(code),
        .revision = open->recall.revision,
        .bytes = code == AckCode::kPartial ? given : Bytes(0)},
       effects);
  open.reset();
}

void Session::AskRoom(Bytes bytes, Effects& effects) {
  if (state_ != State::kMember || room_asked_) {
    effects.push_back({.kind = Kind::kRoom});
    return;
  }
  room_asked_ = bytes;
  Send({.type = Type::kRoom, .bytes = bytes}, effects);
}

void Session::ReturnRoom(Bytes bytes, Effects& effects) {
  bytes = std::min(bytes, grants_.room);
  if (bytes == Bytes(0)) return;
  grants_.room -= bytes;
  if (state_ == State::kMember) Send({.type = Type::kRoomBack, .bytes = bytes}, effects);
}

void Session::Emptied(const Wants& first, Effects& effects) {
  if (state_ == State::kBarred) Hello(first, effects);
}

void Session::End(Effects& effects) {
  if (state_ != State::kApart) Send({.type = Type::kBye}, effects);
  Close("the process ends", effects);
}

Duration ReconnectDelay(uint64_t random) {
  constexpr Duration kLeast = std::chrono::milliseconds(100);
  constexpr Duration kMost = std::chrono::milliseconds(1500);
  return kLeast + Duration(random % static_cast<uint64_t>((kMost - kLeast).count() + 1));
}

}  // namespace vramspan::lease
