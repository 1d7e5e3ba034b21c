#include "runtime/backing/host_room.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace vramspan {
namespace {

// A reading costs some tens of microseconds, pinning 256 MiB 40 ms.
constexpr Bytes kInterval = MiB(256);

// Left to everybody else. Smaller than the margin of the default budget: this is for budgets that a
// user chose, and for machines that filled up after the budget was made.
Bytes Floor(const HostLimits& limits) { return std::min(MiB(512), Bytes(limits.total.value / 8)); }

Bytes Left(const HostLimits& limits) {
  return std::min(limits.available, limits.cgroup_room.value_or(limits.available));
}

}  // namespace

Bytes RoomToPin(const HostLimits& limits) {
  const Bytes left = Left(limits), floor = Floor(limits);
  return left > floor ? left - floor : Bytes(0);
}

Status HostRoom::Take(Bytes size) {
  MutexLock lock(mutex_);
  if (size > credit_) VS_RETURN_IF_ERROR(Read());
  if (size > room_) {
    credit_ = Bytes(0);
    return absl::ResourceExhaustedError(
        absl::StrCat("the host has no room to pin ", size.value >> 20, " MiB more: ", limit_,
                     "; free host memory or lower the host budget"));
  }
  room_ -= size;
  credit_ -= std::min(credit_, size);
  return absl::OkStatus();
}

Status HostRoom::Read() {
  VS_ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(root_));
  const bool cgroup = limits.cgroup_room.has_value() && *limits.cgroup_room < limits.available;
  const Bytes left = Left(limits);
  const Bytes floor = Floor(limits);
  room_ = RoomToPin(limits);
  credit_ = std::min(room_, kInterval);
  limit_ = absl::StrCat(cgroup ? limits.cgroup_file : std::string("MemAvailable"), " leaves ",
                        left.value >> 20, " MiB, of which ", floor.value >> 20, " MiB stay free");
  return absl::OkStatus();
}

}  // namespace vramspan
