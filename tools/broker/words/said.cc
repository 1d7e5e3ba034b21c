#include "tools/broker/words/said.h"

#include <algorithm>

namespace vramspan::broker {
namespace {

lease::TurnCode TurnCodeOf(const Action& action) {
  const bool gives = action.kind == Action::Kind::kGiveTurn;
  if (action.direction == Direction::kEvict) {
    return gives ? lease::TurnCode::kGiveEvict : lease::TurnCode::kTakeEvict;
  }
  return gives ? lease::TurnCode::kGiveFetch : lease::TurnCode::kTakeFetch;
}

lease::RefuseCode RefuseCodeOf(Refusal refusal) {
  switch (refusal) {
    case Refusal::kBusy:
      return lease::RefuseCode::kBusy;
    case Refusal::kShare:
      return lease::RefuseCode::kShare;
    case Refusal::kNoRoom:
      return lease::RefuseCode::kNoRoom;
    case Refusal::kNotNow:
      return lease::RefuseCode::kNotNow;
    case Refusal::kNone:
    case Refusal::kKnown:
    case Refusal::kUnknown:
    case Refusal::kPolicy:
    case Refusal::kGuarantee:
    case Refusal::kInUse:
      break;
  }
  return lease::RefuseCode::kDenied;
}

}  // namespace

lease::Message MessageOf(const Action& action, Instant now) {
  lease::Message message;
  switch (action.kind) {
    case Action::Kind::kGrant:
      message.type = lease::Type::kGrant;
      message.memory = MemoryOf(action.place);
      message.revision = action.revision.value;
      message.bytes = action.bytes;
      break;
    case Action::Kind::kRecall:
      message.type = lease::Type::kRecall;
      message.memory = MemoryOf(action.place);
      message.revision = action.revision.value;
      message.bytes = action.bytes;
      message.more = action.copied;
      message.time = std::max<Duration>(action.deadline - now, Duration(0));
      break;
    case Action::Kind::kRoom:
      message.type = lease::Type::kRoomGiven;
      message.bytes = action.bytes;
      break;
    case Action::Kind::kGiveTurn:
    case Action::Kind::kTakeTurn:
      message.type = lease::Type::kTurn;
      message.code = static_cast<uint8_t>(TurnCodeOf(action));
      break;
    case Action::Kind::kHoldWork:
    case Action::Kind::kLetWork:
      message.type = lease::Type::kTurn;
      message.code =
          static_cast<uint8_t>(action.kind == Action::Kind::kHoldWork ? lease::TurnCode::kHoldWork
                                                                      : lease::TurnCode::kLetWork);
      message.time = std::max<Duration>(action.deadline - now, Duration(0));
      break;
    case Action::Kind::kRefuse:
      message.type = lease::Type::kRefuse;
      message.code = static_cast<uint8_t>(RefuseCodeOf(action.refusal));
      break;
    case Action::Kind::kFence:
    case Action::Kind::kUnfence:
    case Action::Kind::kOverrun:
    case Action::Kind::kForget:
      break;
  }
  return message;
}

}  // namespace vramspan::broker
