// Looks round while somebody is connected: at pages and beats, at who uses the devices, at the
// host.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_INSPECTOR_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_INSPECTOR_H_

#include <functional>

#include "tools/broker/server/alarm.h"
#include "tools/broker/server/device_maker.h"
#include "tools/broker/server/dispatcher.h"
#include "tools/broker/server/roll.h"

namespace vramspan::broker {

class Inspector {
 public:
  // All of it outlives this.
  Inspector(Dispatcher& dispatcher, Accounts& accounts, Devices& devices, Clients& clients,
            Machine& machine, const HostMemory& host, const DeviceMaker& maker, Roll& roll);
  // `round` is called in each round, behind everything else.
  Status Start(Loop& loop, std::function<void(Instant)> round);

  // There is something to look at from now on.
  void Wake();
  // What the process says now. Its page alone, where it has written one.
  void LookAtPage(Client& client);
  void LookAtDevice(Device& device);
  void LookAtHost();
  // The process has ended, or said that it holds nothing.
  void LookAtDead(Client& client);

 private:
  void Look();
  void LookAtClients(Instant now);
  // Adds what it says to have waited since the last look.
  static void CountStall(Client& client, uint64_t stalled);
  void LookAtBeat(Client& client, Instant now);
  void Measure(Device& device, Client& client, const DeviceUse& use, Bytes* ours);
  // Forgets tenants that nobody needs to know of. False: some will have to be looked at again.
  bool Sweep(Instant now);
  bool AnybodyDying() const;

  Dispatcher& dispatcher_;
  Accounts& accounts_;
  Devices& devices_;
  Clients& clients_;
  Machine& machine_;
  const HostMemory& host_;
  const DeviceMaker& maker_;
  Roll& roll_;
  std::function<void(Instant)> round_;
  Alarm alarm_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_INSPECTOR_H_
