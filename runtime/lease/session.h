// What a process makes of its connection to the broker (docs/broker-protocol.md): what comes in
// goes to the functions below, and they say what is to be done.
//
// Pure: no socket, clock, thread or lock, and nothing in it ends the program. Instants come with
// the events. A broker that breaks the rules is left (kClose), and the last grants stay.
#ifndef VRAMSPAN_RUNTIME_LEASE_SESSION_H_
#define VRAMSPAN_RUNTIME_LEASE_SESSION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/units.h"
#include "runtime/lease/message.h"

namespace vramspan::lease {

struct Grants {
  uint64_t revision = 0;
  Bytes device, host;
  Bytes room;

  bool operator==(const Grants&) const = default;
};

struct Wants {
  Bytes device, host;
};

struct Effect {
  enum class Kind : uint8_t {
    kSend,      // `message` goes to the broker.
    kWelcome,   // The broker has taken it up. `message` has the limits and the beat.
    kGrant,     // The grants have changed as `message` says.
    kRecall,    // `message` is to be answered (Answer).
    kDue,       // The recall of `message` is to be answered now, with what there is.
    kRoom,      // The room that was asked for: `message.bytes`, or none.
    kEvictAll,  // The broker does not know what is held: all goes, then Emptied is to be called.
    kRefused,   // A new process is not wanted, as `message.code` says. kClose comes behind it.
    kClose,     // The connection is to end, because of `why`.
  };
  Kind kind = Kind::kClose;
  Message message;
  const char* why = "";
};
using Effects = std::vector<Effect>;

class Session {
 public:
  enum class State : uint8_t {
    kApart,     // There is no connection.
    kGreeting,  // It has said who it is.
    kMember,
    kBarred,  // It was not adopted, and has not given up its memory yet.
  };

  explicit Session(const std::array<uint8_t, 16>& device) : device_(device) {}

  State state() const { return state_; }
  const Grants& grants() const { return grants_; }
  bool may_evict() const { return may_evict_; }
  bool may_fetch() const { return may_fetch_; }
  // It is to hold its work: others have the GPU.
  bool holds() const { return hold_until_.has_value(); }
  const std::optional<Instant>& hold_until() const { return hold_until_; }
  // There is a recall without an answer.
  bool Open(Memory memory) const { return OpenOf(memory).has_value(); }
  // Of the open recall, what the grant still has; 0 where there is none.
  Bytes Recalled(Memory memory) const;
  // Of that, what the driver has back where the process has, or may take, `most` of the memory.
  Bytes Given(Memory memory, Bytes most) const;
  // When TimePasses has something to say though nothing happens.
  std::optional<Instant> Due() const;

  // --- what happens ---
  void Connected(const Wants& first, Effects& effects);
  // The connection is gone.
  void Closed(Effects& effects);
  // One datagram, whole. `pages`: it brought both pages, and they are as they should be.
  void Received(Instant now, std::span<const uint8_t> datagram, bool pages, Effects& effects);
  void TimePasses(Instant now, Effects& effects);

  // --- what the process says ---
  void Want(const Wants& wants, Effects& effects);
  // The driver has so much back, of what was recalled. Without an open recall nothing.
  void Answer(Memory memory, Bytes given, Effects& effects);
  // One at a time. kRoom follows, if only because the connection ends.
  void AskRoom(Bytes bytes, Effects& effects);
  void ReturnRoom(Bytes bytes, Effects& effects);
  // All that can go is gone.
  void Emptied(const Wants& first, Effects& effects);
  void End(Effects& effects);

 private:
  struct OpenRecall {
    Message recall;
    Bytes bytes;
    Instant answer_by;
    bool due = false;  // Was said.
  };

  const std::optional<OpenRecall>& OpenOf(Memory memory) const {
    return open_[static_cast<size_t>(memory)];
  }
  Bytes& GrantOf(Memory memory) { return memory == Memory::kHost ? grants_.host : grants_.device; }
  void Hello(const Wants& first, Effects& effects);
  void OnWelcome(const Message& message, bool pages, Effects& effects);
  void OnGrant(const Message& message, Effects& effects);
  void OnRecall(Instant now, const Message& message, Effects& effects);
  void OnRefuse(const Message& message, Effects& effects);
  void OnTurn(Instant now, const Message& message);
  void RoomIs(Bytes bytes, Effects& effects);

  const std::array<uint8_t, 16> device_;
  State state_ = State::kApart;
  bool adopting_ = false;  // What was said in kGreeting.
  bool member_ = false;    // It has been a member, and holds what it was granted.
  bool may_evict_ = false, may_fetch_ = false;
  std::optional<Instant> hold_until_;
  Grants grants_;
  std::array<std::optional<OpenRecall>, 2> open_;
  std::optional<Bytes> room_asked_;
};

// When to connect again: 0.1 to 1.5 s, whatever number it is given. A broker that comes back waits
// two seconds for those that it cannot see by the driver.
Duration ReconnectDelay(uint64_t random);

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_SESSION_H_
