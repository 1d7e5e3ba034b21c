// A process's lease of one device: a thread that keeps the connection to the broker, tells the
// member what it may use, and the broker what the member says. The rules are in session.h.
//
// The thread has a table of descriptors of its own where the system allows that: a program that
// closes all it does not know, forks or replaces itself has no part in the connection. It takes no
// signal, calls no driver, and never ends the program. Whatever the broker does, or if it is gone,
// the last grants stay; then the thread connects again and again, 0.1 to 1.5 s after the last try.
//
// Threads: all functions of any. The destructor waits for the thread, which waits for nothing.
#ifndef VRAMSPAN_RUNTIME_LEASE_CLIENT_H_
#define VRAMSPAN_RUNTIME_LEASE_CLIENT_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "runtime/base/mutex.h"
#include "runtime/base/own_descriptor.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/lease/broker_place.h"
#include "runtime/lease/connection.h"
#include "runtime/lease/pages.h"
#include "runtime/lease/said_wants.h"
#include "runtime/lease/session.h"
#include "runtime/lease/standing.h"

namespace vramspan::lease {

// Whose lease it is. Called on the lease's thread, under no lock of it: nothing here may wait, or
// call the driver.
class Member {
 public:
  virtual ~Member() = default;
  // Something has changed, or may have.
  virtual void Stands(const Standing& standing) = 0;
  // The most that it has of either memory, or may take without asking.
  virtual Bytes Most(Memory memory) = 0;
  // What it wants before it has anything.
  virtual Wants First() { return {}; }
  // What it uses and wants; the beat is the thread's.
  virtual ProcessPage Page() = 0;
};

class Client {
 public:
  // Connects, or begins to try where a broker listens that has no place for another yet. NotFound:
  // no broker listens. `member` outlives it.
  static StatusOr<std::unique_ptr<Client>> Start(const BrokerPlace& place,
                                                 const std::array<uint8_t, 16>& device,
                                                 Member* member);
  // Says goodbye: REQUIRES that nothing is held any more, or the process ends.
  ~Client();

  // Waits for the first grants. False: they did not come, or the broker wants no more of it.
  bool AwaitGrants(std::chrono::milliseconds patience);
  // The member has given back or taken memory, or wants some: the thread is to look. Many calls
  // are one look.
  void Look();
  // Asks for room and waits a second at most; what was given.
  Bytes AskRoom(Bytes bytes);
  void ReturnRoom(Bytes bytes);

 private:
  using Clock = std::chrono::steady_clock;

  Client(const BrokerPlace& place, const std::array<uint8_t, 16>& device, Member* member);

  void Run();
  void Fail();  // The thread ends by an exception.
  void LeaveTable();
  void Connect();
  // Waits until there is something to do.
  void Pause();
  void Hear();
  bool TakeOrders();  // False: the thread is to end.
  void Follow(const Effects& effects);
  void OnRoom(Bytes bytes);
  void Disconnect(const char* why);
  // Answers recalls that are obeyed, writes the page, says what is wanted.
  void LookRound();
  void AnswerRecall(Memory memory, bool due);
  void SayWants(const Wants& wants);
  void TellMember();
  static Instant Now();

  const BrokerPlace place_;
  Member& member_;
  // A pair of sockets. Not an eventfd: OwnDescriptor knows no such from another.
  OwnDescriptor wake_, woken_;
  std::atomic<bool> looks_{false};

  // --- the thread's ---
  Session session_;
  Connection connection_;
  Standing standing_;
  bool private_ = false;
  SaidWants said_;
  bool asking_ = false;  // For room.
  uint64_t beat_ = 0;
  Duration period_;
  Instant next_beat_, next_try_;

  // --- orders, and what became of them ---
  Mutex mu_;
  CondVar done_;
  bool stop_ VS_GUARDED_BY(mu_) = false;
  bool left_ VS_GUARDED_BY(mu_) = false;   // The table of descriptors, or it cannot.
  bool first_ VS_GUARDED_BY(mu_) = false;  // Grants have come, or none will.
  bool told_ VS_GUARDED_BY(mu_) = false;   // Grants have come.
  Bytes asked_ VS_GUARDED_BY(mu_);         // Room, for the thread to ask for.
  Bytes returned_ VS_GUARDED_BY(mu_);
  std::optional<Bytes> room_ VS_GUARDED_BY(mu_);
  Thread thread_;
};

}  // namespace vramspan::lease

#endif  // VRAMSPAN_RUNTIME_LEASE_CLIENT_H_
