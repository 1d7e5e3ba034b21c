// What an operator changes while the daemon runs: the configuration read again, and `set`.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_OPERATOR_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_OPERATOR_H_

#include <map>
#include <string>

#include "runtime/base/status.h"
#include "tools/broker/server/alarm.h"
#include "tools/broker/server/container_tenants.h"
#include "tools/broker/server/device_maker.h"
#include "tools/broker/server/dispatcher.h"

namespace vramspan::broker {

class Operator {
 public:
  // All of it outlives this. `folder` has the configuration.
  Operator(Dispatcher& dispatcher, Accounts& accounts, Devices& devices, DeviceMaker& maker,
           std::string folder, const std::string& run_directory);
  // Reads the configuration, and watches for changes of it.
  Status Start(Loop& loop);

  void RereadAndSay();
  // Reads it again. On an error, which says what and where, nothing has changed.
  Status Reread();
  // Changes a tenant, by its name or cgroup; a cgroup that nobody told of becomes one. Holds until
  // the daemon ends, or reads the configuration of this tenant again.
  Status Set(const std::string& tenant, const std::map<std::string, std::string>& changes);

 private:
  Status WatchFolder(Loop& loop);
  Status WatchTenants();
  void OnChange();

  // What the operator wants, and the containers beside it.
  Status CarryBeside(const std::vector<WantedTenant>& wanted);
  void RereadContainers();
  Status Carry(StatusOr<Reform> reform);

  Dispatcher& dispatcher_;
  Accounts& accounts_;
  Devices& devices_;
  DeviceMaker& maker_;
  const std::string folder_;
  ContainerTenants containers_;
  Policy most_of_containers_;
  Fd inotify_;
  int outer_ = -1;  // What watches `folder_` itself.
  Alarm alarm_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_OPERATOR_H_
