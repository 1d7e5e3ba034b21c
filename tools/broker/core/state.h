// All that the broker's core knows: one device, the host memory for it, and who shares them.
//
// Only Decide changes it. Everything in it is a value, so a copy is a whole other world.
#ifndef VRAMSPAN_TOOLS_BROKER_CORE_STATE_H_
#define VRAMSPAN_TOOLS_BROKER_CORE_STATE_H_

#include <map>
#include <optional>
#include <vector>

#include "runtime/base/units.h"
#include "tools/broker/core/names.h"
#include "tools/broker/core/policy.h"
#include "tools/broker/core/process.h"
#include "tools/broker/core/settings.h"

namespace vramspan::broker {

// A cgroup. Its processes and the tenants inside share what it gets.
struct Tenant {
  TenantId id;
  TenantId parent;
  Policy policy;
  std::vector<TenantId> tenants;
  std::vector<ProcessId> processes;
  bool drained = false;
  // Since when it has less device memory than its guarantee and its demand, though there is some.
  std::optional<Instant> short_since;
};

struct Pool {
  Bytes capacity;
  Bytes foreign;  // What others use than the processes here.
  // What the processes held beyond the room for them, when that shrank for a cause outside: foreign
  // growth, a smaller capacity, adoption, a context. Nothing the broker does makes more of it.
  Bytes excess;
  // Bytes that came free, and are given out together at `gather_until`.
  Bytes gathered;
  std::optional<Instant> gather_until;
};

// The link carries one process's evictions and one's fetches at a time.
enum class Direction : uint8_t { kEvict, kFetch };

struct Turn {
  ProcessId holder;
  Instant until;
};

// The working sets of several do not fit together: one process works at a time.
struct GpuTurns {
  bool on = false;
  ProcessId holder;
  Instant since;                     // It has the turn,
  Instant until;                     // and who waits for it gets it then.
  Instant counted;                   // The holder's time until this is in its part.
  int longer = 0;                    // So often it kept the turn: it had less for its weight.
  bool whole = false;                // The holder has all its memory.
  Duration change{0};                // How long the last change took until that was so.
  uint64_t passed = 0;               // How often the turn was passed in this round.
  uint64_t unwanted = 0;             // How often nobody wanted it, one behind the other.
  std::optional<Instant> contended;  // Since when there is cause for turns.
  Instant not_before;                // They brought nothing: none before this.
  Duration back_off{0};
};

struct State {
  explicit State(const Settings& s = {}) : settings(s) { tenants[kRoot] = Tenant{.id = kRoot}; }

  Settings settings;
  Instant now;
  PerPlace<Pool> pools;
  std::map<TenantId, Tenant> tenants;
  std::map<ProcessId, Process> processes;
  Turn evict, fetch;
  GpuTurns gpu;
  // After a restart: until when, and for how many, processes with proof of memory are waited for.
  std::optional<Instant> adopting_until;
  uint64_t adopting = 0;
};

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TOOLS_BROKER_CORE_STATE_H_
