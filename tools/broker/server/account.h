// What the daemon knows of a tenant: a cgroup, with what it is allowed and what it costs.
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_ACCOUNT_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_ACCOUNT_H_

#include <map>
#include <string>

#include "runtime/base/units.h"
#include "tools/broker/core/names.h"
#include "tools/broker/core/policy.h"
#include "tools/broker/server/allowance.h"
#include "tools/broker/server/tally.h"

namespace vramspan::broker {

struct Device;

// Where its policy is from.
enum class Source : uint8_t {
  kPresent,    // From nowhere: it is there because processes of it are.
  kOperator,   // `set`, until the daemon ends.
  kFile,       // The configuration.
  kContainer,  // A container's hook.
};

struct Account {
  TenantId id;
  std::string cgroup;
  std::string name;  // For people: the configuration's, else the cgroup.
  // In which it lies in the states; null is the root. Known as long as this points at it.
  Account* parent = nullptr;
  Policy policy;
  Source source = Source::kPresent;
  bool drained = false;   // By an operator, of itself.
  bool appeared = false;  // The devices' states have it.
  int connections = 0;
  int processes = 0;  // In the states: those that are dying, too.
  Allowance allowance;
  std::map<const Device*, Tally> tallies;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_ACCOUNT_H_
