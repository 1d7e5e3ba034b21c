// What happens to the broker. Each event has the instant at which it came.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_EVENT_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_EVENT_H_

#include <optional>
#include <variant>

#include "runtime/base/units.h"
#include "tools/broker/core/names.h"
#include "tools/broker/core/policy.h"
#include "tools/broker/core/process.h"

namespace vramspan::broker {

// From the operator, and from what the daemon sees of the machine.
struct TenantAppears {
  TenantId tenant;
  TenantId parent;
  Policy policy;
  bool drained = false;  // See TenantDrains.
};
struct TenantLeaves {  // It has no process and no tenant left.
  TenantId tenant;
};
struct PolicyChanges {
  TenantId tenant;
  Policy policy;
};
// From here on its processes, and those of tenants inside, are due nothing of the device: what they
// have of it is recalled, and who comes is granted none. Host memory is theirs as ever. `kRoot` is
// everybody. Or it is as before again.
struct TenantDrains {
  TenantId tenant;
  bool drained = false;
};
struct ProcessDrains {
  ProcessId process;
  bool drained = false;
};
struct CapacityIs {
  Place place;
  Bytes bytes;
};
struct ForeignIs {
  Place place;
  Bytes bytes;
};
struct TimePasses {};
// Comes first: `processes` held memory when the broker ended, and will be adopted.
struct Restarts {
  uint64_t processes = 0;
};

// From a process. What names one that is not there, or is dying, is ignored.
struct Joins {
  ProcessId process;
  TenantId tenant;
  Said said;
  bool drained = false;  // See ProcessDrains.
};
struct Adopts {  // Joins, with memory: what it says it was granted before.
  ProcessId process;
  TenantId tenant;
  Revision revision;
  PerPlace<Bytes> grants;
  // The most that is believed at once, where the daemon has evidence: its own page, or NVML. With
  // evidence of its device memory a process is adopted at any time: it holds that anyway.
  PerPlace<std::optional<Bytes>> proven;
  Bytes room;
  Bytes proven_room;
  Said said;
  bool drained = false;  // See ProcessDrains.
};
struct Says {
  ProcessId process;
  Said said;
};
struct Acknowledges {
  enum class Result : uint8_t { kDone, kPartial, kDeferred };
  ProcessId process;
  Place place = Place::kDevice;
  Revision revision;  // Of the recall. Another one is ignored.
  Result result = Result::kDone;
  Bytes bytes;  // kPartial: what was given back.
};
struct WantsRoom {
  ProcessId process;
  Bytes bytes;
};
struct ReturnsRoom {
  ProcessId process;
  Bytes bytes;
};

// About a process, from the kernel and the driver.
struct Dies {
  ProcessId process;
};
struct BytesGone {  // The driver no longer shows memory of it.
  ProcessId process;
};
struct IsStuck {
  ProcessId process;
};
struct Beats {  // It runs again.
  ProcessId process;
};
struct Measured {  // 0: not known.
  ProcessId process;
  Bytes bytes;
};

struct Event {
  Instant at;
  std::variant<TimePasses, TenantAppears, TenantLeaves, PolicyChanges, TenantDrains, ProcessDrains,
               CapacityIs, ForeignIs, Restarts, Joins, Adopts, Says, Acknowledges, WantsRoom,
               ReturnsRoom, Dies, BytesGone, IsStuck, Beats, Measured>
      what;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_EVENT_H_
