// How much host memory may be pinned: MemAvailable and the limits of the process's cgroups (v1 and
// v2, every level up to the root), whichever is least, less a safety margin.
#ifndef VRAMSPAN_RUNTIME_BACKING_HOST_LIMITS_H_
#define VRAMSPAN_RUNTIME_BACKING_HOST_LIMITS_H_

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace vramspan {

struct HostLimits {
  Bytes available;                   // MemAvailable of /proc/meminfo.
  Bytes total;                       // MemTotal.
  std::optional<Bytes> cgroup_room;  // Least of limit - usage over the levels; none without limit.
  std::string cgroup_file;           // Where that limit stands, for messages.
};

// `root` is prepended to every path, for tests ("" on a real machine).
StatusOr<HostLimits> ReadHostLimits(const std::string& root = {});

// The least of the limits less the margin: an eighth of it, at least 512 MiB, at most 8 GiB: pinned
// memory cannot be swapped, and a machine without any room left kills processes.
Bytes DefaultHostBudget(const HostLimits& limits);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_HOST_LIMITS_H_
