// The files that hooks write into the run directory, one for each container. A hook touches no file
// that no hook wrote.
#ifndef VRAMSPAN_TOOLS_BROKER_CONTAINER_TENANT_FILE_H_
#define VRAMSPAN_TOOLS_BROKER_CONTAINER_TENANT_FILE_H_

#include <map>
#include <string>

#include "runtime/base/status.h"

namespace vramspan::broker {

struct ContainerTenant {
  std::string id;
  std::string cgroup;  // Of the host.
  // The container's first process. When it is gone the file is nobody's.
  int pid = 0;
  std::string started;  // As /proc/PID/stat has it.
  std::map<std::string, std::string> request;
};

// The file's text: what configuration.h reads, behind a line by which hooks know it.
std::string TenantText(const ContainerTenant& tenant);

// Where the container's first process stands, by `proc`.
StatusOr<ContainerTenant> LookAtContainer(const std::string& proc, const std::string& id, int pid);

// All as one step each. `folder` is the broker's: FailedPrecondition where it is not there, not of
// this user or root, or where others can change it.
Status WriteTenant(const std::string& folder, const ContainerTenant& tenant);
// There may be none.
Status RemoveTenant(const std::string& folder, const std::string& id);
// Removes those of containers that are gone and whose runtime did not say so.
Status SweepTenants(const std::string& folder, const std::string& proc);

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CONTAINER_TENANT_FILE_H_
