// Takes connections and what processes say, and turns it into events.
//
// A process can cost no more than its tenant may: who costs more is not read from for a while.
// Nobody is waited for. What is not the protocol ends the connection.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_RECEPTION_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_RECEPTION_H_

#include <string>

#include "runtime/lease/message.h"
#include "tools/broker/server/device_maker.h"
#include "tools/broker/server/dispatcher.h"
#include "tools/broker/server/drains.h"
#include "tools/broker/server/inspector.h"
#include "tools/broker/server/machine.h"
#include "tools/broker/server/socket.h"

namespace vramspan::broker {

class Reception {
 public:
  static constexpr int kMostConnections = 64;  // Of a tenant.

  // All of it outlives this. `proc` is where cgroups are read, /proc but in tests.
  Reception(Loop& loop, Dispatcher& dispatcher, Inspector& inspector, Accounts& accounts,
            Clients& clients, Machine& machine, DeviceMaker& maker, Drains& drains,
            std::string proc);
  Status Start(Fd listening);

  // Reads again of those whose tenants have something left, and accepts again.
  void Resume(Instant now);

 private:
  void OnConnections();
  bool Accept();  // False: nobody waits any more.
  // Takes the socket where it is admitted.
  void Admit(Fd& socket);
  void OnReadable(ProcessId id);
  // True: there may be more.
  bool ReadOne(Client& client);
  void OnEnd(ProcessId id);

  void Handle(Client& client, const lease::Message& message);
  void Join(Client& client, const lease::Message& message);
  // The states have the tenant, or take it in now.
  bool Appears(Account& account, const Device& device);
  bool MayJoin(Client& client, const lease::Message& message);
  Happening ArrivalOf(const Client& client, const lease::Message& message);
  void Want(Client& client, const lease::Message& message);
  // The message answers a recall that is open.
  static bool Asked(const Client& client, const lease::Message& message);
  void Refuse(Client& client, lease::RefuseCode code);

  Loop& loop_;
  Dispatcher& dispatcher_;
  Inspector& inspector_;
  Accounts& accounts_;
  Clients& clients_;
  Machine& machine_;
  DeviceMaker& maker_;
  Drains& drains_;
  const std::string proc_;
  Fd listening_;
  WatchId watch_ = 0;
  Spare spare_;
  Allowance accepting_;
  bool paused_ = false;
  uint64_t last_ = 0;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_RECEPTION_H_
