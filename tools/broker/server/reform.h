// What an operator wants of the tenants, as events for the devices' states: all of it or nothing.
//
// Guarantees sink from the inside out before any rises from the outside in, so that no step is
// refused of a whole that fits. The steps are tried on copies of the states first.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_REFORM_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_REFORM_H_

#include <map>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "tools/broker/core/event.h"
#include "tools/broker/core/policy.h"
#include "tools/broker/server/accounts.h"
#include "tools/broker/server/device.h"

namespace vramspan::broker {

using Happening = decltype(Event::what);
using Devices = std::map<Uuid, Device>;

struct WantedTenant {
  std::string name;
  std::string cgroup;
  Policy policy;
  Source source = Source::kFile;
  std::string where;  // Who wants it, for messages: "tenants.d/a.toml".
};

// All tenants that an operator has told of, as they are now.
std::vector<WantedTenant> ToldOf(const Accounts& accounts);

struct Reform {
  std::vector<Happening> events;
  std::vector<WantedTenant> wanted;
};

// What brings the tenants to exactly those `wanted`, beside those that are there for their
// processes. Accounts may have been made; nothing else has changed. Errors say whose wish cannot be
// had, and why.
StatusOr<Reform> PlanReform(Accounts& accounts, const Devices& devices,
                            std::vector<WantedTenant> wanted, Instant now);
// The accounts as they are when the events have been decided.
void Conclude(Accounts& accounts, const Reform& reform);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_REFORM_H_
