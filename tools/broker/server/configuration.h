// The configuration: a folder tenants.d with a file for each tenant.
//
//   # tenants.d/train.toml
//   name = "train"                           # for people; left out, the file's name
//   cgroup = "/system.slice/train.service"   # whose processes it is about
//   weight = 200
//   guarantee = "8GiB"
//   limit = "20GiB"
//   class = "batch"
#ifndef VRAMSPAN_TOOLS_BROKER_SERVER_CONFIGURATION_H_
#define VRAMSPAN_TOOLS_BROKER_SERVER_CONFIGURATION_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "tools/broker/server/reform.h"

namespace vramspan::broker {

// One file's text. Errors begin with "<file>:<line>: ".
StatusOr<WantedTenant> ReadTenant(const std::string& file, std::string_view text);

// The same of a file.
StatusOr<WantedTenant> ReadTenantFile(const std::string& file);

inline constexpr char kContainersFile[] = "containers.toml";

// What containers may have at most: the file containers.toml of the folder, with a tenant's keys
// but for name and cgroup. What it does not say is as kMostOfContainers has it.
StatusOr<Policy> ReadMostOfContainers(const std::string& folder);

// All files *.toml of <folder>/tenants.d, by name. No such folder: no tenants. The first error is
// the result: a configuration is taken whole or not at all.
StatusOr<std::vector<WantedTenant>> ReadConfiguration(const std::string& folder);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_SERVER_CONFIGURATION_H_
