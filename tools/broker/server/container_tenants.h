// Tenants that containers' hooks wrote down (docs/sharing.md): the folder tenants.d of the run
// directory, which a restart of the machine empties. They are no operator's word. What is wrong
// with one is said, and it is left out; nobody else suffers for it.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_CONTAINER_TENANTS_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_CONTAINER_TENANTS_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/broker/server/alarm.h"
#include "tools/broker/server/reform.h"

namespace vramspan::broker {

class ContainerTenants {
 public:
  explicit ContainerTenants(const std::string& run_directory);
  // Makes the folder, which is root's or this user's alone. Calls `changed` when a file there has.
  Status Start(Loop& loop, std::function<void()> changed);

  // Those of containers, the oldest first, with no more than `most`.
  std::vector<WantedTenant> Read(const Policy& most);
  // `wanted`, and of `containers` those that fit beside it: with less, or not at all, where they do
  // not. Who is in `wanted` is as that says.
  StatusOr<Reform> Join(Accounts& accounts, const Devices& devices,
                        const std::vector<WantedTenant>& wanted,
                        std::vector<WantedTenant> containers);

 private:
  // Once, until it is no longer so.
  void Say(const std::string& text);

  const std::string folder_;
  Fd inotify_;
  Alarm alarm_;
  std::set<std::string> said_, saying_;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_CONTAINER_TENANTS_H_
