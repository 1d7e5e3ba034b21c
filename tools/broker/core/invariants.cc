#include "tools/broker/core/invariants.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/shares.h"

namespace vramspan::broker {
namespace {

std::string Of(const Process& process, const char* what) {
  return absl::StrCat("process ", process.id.value, " in state ", static_cast<int>(process.state),
                      ": ", what);
}

// Summed up anew, without the functions that the decisions use.
std::string BrokenSums(const State& state) {
  for (const Place place : kPlaces) {
    const Pool& pool = state.pools[place];
    Wide all = Wide{pool.foreign.value};
    if (place == Place::kDevice) all += state.settings.Reserve(pool.capacity).value;
    Wide held = 0;
    for (const auto& [id, process] : state.processes) {
      Wide holds = Wide{process.leases[place].grant.value};
      if (place == Place::kDevice) holds += Wide{process.room.value} + process.room_kept.value;
      if (place == Place::kDevice) holds = std::max(holds, Wide{process.measured.value});
      held += holds;
    }
    // More than all that is held cannot be above the capacity.
    const Wide above = all + held > pool.capacity.value ? all + held - pool.capacity.value : 0;
    if (std::min(above, held) > pool.excess.value) {
      return absl::StrCat("I1: ", place == Place::kDevice ? "device" : "host", ": held ",
                          static_cast<uint64_t>(held), ", foreign and reserve ",
                          static_cast<uint64_t>(all), ", of ", pool.capacity.value, ", excused ",
                          pool.excess.value);
    }
  }
  return {};
}

std::string BrokenLease(const State& state, const Process& process) {
  bool recalled = false;
  for (const Place place : kPlaces) {
    const Lease& lease = process.leases[place];
    if (!lease.recall) continue;
    recalled = true;
    const Recall& recall = *lease.recall;
    if (recall.bytes > lease.grant) return Of(process, "more is recalled than was granted");
    if (recall.bytes == Bytes()) return Of(process, "nothing is recalled");
    if (recall.copied > recall.bytes) return Of(process, "more is copied than recalled");
    if (recall.copied > state.settings.slice) return Of(process, "more than a slice is copied");
    if (recall.deadline > After(state.now, state.settings.deadline)) {
      return Of(process, "I2: the deadline is too far away");
    }
    if (recall.revision > process.revision) return Of(process, "a recall from the future");
    // Who took too long has lost the turn, and ends what it began.
    const bool new_slice = After(recall.sent, state.settings.evict_turn) > state.now;
    if (recall.copied > Bytes() && Responds(process) && state.evict.holder != process.id &&
        new_slice) {
      return Of(process, "copies without the turn to evict");
    }
    if (recall.deadline <= state.now && Responds(process)) return Of(process, "is overdue");
  }
  if (process.state == LeaseState::kRecalling && !recalled) return Of(process, "none is recalled");
  if (recalled && (process.state == LeaseState::kAdmitted || process.state == LeaseState::kSteady ||
                   process.state == LeaseState::kPartial || process.state == LeaseState::kDying)) {
    return Of(process, "something is recalled");
  }
  if (process.state == LeaseState::kAdopted && !state.adopting_until) {
    return Of(process, "I4: adopted, and nobody is waited for");
  }
  if (state.adopting_until && recalled) return Of(process, "I4: a recall before all are known");
  if (process.room_wish && process.room_wish->until <= state.now) {
    return Of(process, "I3: waits for room too long");
  }
  return {};
}

// Where there are turns on the GPU, all who take part but one hold their work; else nobody does.
std::string BrokenTurns(const State& state) {
  size_t work = 0, take = 0;
  for (const auto& [id, process] : state.processes) {
    const TurnPart& part = process.part;
    if (part.holds && !part.takes) return Of(process, "holds its work, and has no turn");
    if (part.takes && !state.gpu.on) return Of(process, "takes turns, and there are none");
    take += part.takes;
    work += part.takes && !part.holds;
    if (part.takes && !part.holds && state.gpu.holder != id) return Of(process, "works by itself");
  }
  if (!state.gpu.on || state.adopting_until) return {};
  if (work != 1) return absl::StrCat(work, " of ", take, " work, and one has the turn");
  return state.gpu.until <= state.now ? "a turn on the GPU is overdue" : "";
}

std::string BrokenTree(const State& state) {
  size_t processes = 0, tenants = 1;
  for (const auto& [id, tenant] : state.tenants) {
    for (const ProcessId inside : tenant.processes) {
      const auto found = state.processes.find(inside);
      if (found == state.processes.end() || found->second.tenant != id) return "a lost process";
    }
    for (const TenantId inside : tenant.tenants) {
      const auto found = state.tenants.find(inside);
      if (found == state.tenants.end() || found->second.parent != id) return "a lost tenant";
    }
    processes += tenant.processes.size();
    tenants += tenant.tenants.size();
  }
  if (processes != state.processes.size()) return "a process in no tenant, or in two";
  if (tenants != state.tenants.size()) return "a tenant in no tenant, or in two";
  return {};
}

}  // namespace

std::string BrokenInvariant(const State& state) {
  if (std::string broken = BrokenSums(state); !broken.empty()) return broken;
  if (std::string broken = BrokenTree(state); !broken.empty()) return broken;
  if (std::string broken = BrokenTurns(state); !broken.empty()) return broken;
  for (const auto& [id, process] : state.processes) {
    if (std::string broken = BrokenLease(state, process); !broken.empty()) return broken;
  }
  if (std::string broken = BrokenShortage(state); !broken.empty()) return broken;
  return BrokenGuarantee(state);
}

}  // namespace vramspan::broker
