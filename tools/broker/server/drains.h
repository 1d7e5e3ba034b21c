// What an operator takes off the devices: a tenant, a process, or everybody. It lasts until the
// operator says otherwise, or the daemon ends; no configuration changes it.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_DRAINS_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_DRAINS_H_

#include <sys/types.h>

#include <map>
#include <string>

#include "runtime/base/status.h"
#include "tools/broker/server/dispatcher.h"
#include "tools/broker/server/fd.h"

namespace vramspan::broker {

class Drains {
 public:
  // All of it outlives this.
  Drains(Dispatcher& dispatcher, Accounts& accounts, const Clients& clients);

  // `name` is a tenant's name or cgroup, or the pid of a process that is connected; empty:
  // everybody. Errors say what is not there, or was not drained.
  Status Drain(const std::string& name);
  Status Undrain(const std::string& name);

  // It was drained by its pid, on whatever connection.
  bool Has(const Peer& peer);

 private:
  StatusOr<Account*> FindTenant(const std::string& name) const;
  Status SetProcess(pid_t pid, bool drained);
  void Tell(Account* account, bool drained);

  Dispatcher& dispatcher_;
  Accounts& accounts_;
  const Clients& clients_;
  // With what tells that the process is gone. A pid is used again.
  std::map<pid_t, Fd> processes_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_DRAINS_H_
