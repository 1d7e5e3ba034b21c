// Makes a device's state when the device is first heard of: with what it has, and all tenants.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_MAKER_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_MAKER_H_

#include <map>

#include "runtime/base/status.h"
#include "tools/broker/server/accounts.h"
#include "tools/broker/server/host_memory.h"
#include "tools/broker/server/machine.h"
#include "tools/broker/server/reform.h"

namespace vramspan::broker {

class DeviceMaker {
 public:
  // All of it outlives this.
  DeviceMaker(Devices& devices, Accounts& accounts, Machine& machine, const HostMemory& host);

  // Those that the machine knows. `before`: how many processes held memory under another broker.
  Status Start(const Settings& settings, std::map<Uuid, uint64_t> before);
  // Null: there is no such device, or there are too many already.
  Device* For(const Uuid& uuid);
  // Where no device has been heard of yet, but any has as much: one such, with all tenants. What
  // does not fit into it can be refused at once. Else nothing.
  Devices Expected();
  // A device's part of all host memory.
  Bytes HostShare(Bytes host) const;

 private:
  // Null: there is no such device.
  Device* MakeIn(Devices& devices, const Uuid& uuid);

  Devices& devices_;
  Accounts& accounts_;
  Machine& machine_;
  const HostMemory& host_;
  Settings settings_;
  std::map<Uuid, uint64_t> before_;
  Instant before_until_;
  uint64_t host_parts_ = 1;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_DEVICE_MAKER_H_
