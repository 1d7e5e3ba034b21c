// Takes events to the core, and does what it says: messages and pages to processes.
//
// Events that come of doing so (a process that does not read is cut off) wait until the one before
// has been done whole.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_DISPATCHER_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_DISPATCHER_H_

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/lease/message.h"
#include "tools/broker/core/action.h"
#include "tools/broker/core/event.h"
#include "tools/broker/server/alarm.h"
#include "tools/broker/server/client.h"
#include "tools/broker/server/reform.h"

namespace vramspan::broker {

class Dispatcher {
 public:
  // How often a process's page has to change.
  static constexpr Duration kBeat = std::chrono::milliseconds(500);

  // All of it outlives this.
  Dispatcher(Loop& loop, Devices& devices, Clients& clients);
  Status Start();

  void Apply(Device& device, Happening what);
  // To all devices.
  void Apply(const Happening& what);
  // The process comes: it is answered before anybody is told of what follows.
  void Arrive(Client& client, Happening what);
  // Ends the connection. `why` is for the log; empty where there is nothing to say.
  void Drop(Client& client, std::string_view why);
  // A message that no action is.
  void Tell(Client& client, const lease::Message& message);

  // Lets go of what has ended. No reference to a client is held.
  void Bury();

  const Counts& counts() const { return counts_; }

 private:
  struct Item {
    Device* device;
    ProcessId arriving;
    Happening what;
  };

  void Run();
  // Before the core decides, which forgets the recall.
  void Count(const Item& item);
  void Decided(const Item& item, const Actions& actions);
  void Do(Device& device, const Action& action);
  void Welcome(Client& client);
  void Grant(Client& client, const Action& action);
  void ShowTurn(Client& client, const Action& action);
  void Show(Client& client, uint64_t flag, bool set);
  void Forget(Device& device, const Action& action);
  void SetAlarm();
  Client* Find(ProcessId id);

  Loop& loop_;
  Devices& devices_;
  Clients& clients_;
  Alarm due_;
  std::deque<Item> items_;
  std::vector<std::unique_ptr<Client>> buried_;
  Counts counts_;
  bool running_ = false;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_DISPATCHER_H_
