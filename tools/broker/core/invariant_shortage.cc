#include <absl/strings/str_cat.h>

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/invariants.h"
#include "tools/broker/core/recalls.h"
#include "tools/broker/core/shares.h"
#include "tools/broker/core/turns.h"

namespace vramspan::broker {
namespace {

// What could be had from the process if it were asked for `need`: written anew, and simpler than
// the rules that ask.
Bytes CouldGive(const State& state, const Process& process, Place place, Bytes need,
                Bytes free_host) {
  const Lease& lease = process.leases[place];
  if (!Responds(process)) return Bytes();
  const Bytes wish = std::min(need, Minus(lease.grant, lease.target));
  Bytes at_hand = Minus(lease.grant, process.said.used[place]);
  if (place == Place::kHost) {
    const auto& evicted = process.leases[Place::kDevice].recall;
    return std::min(wish, Minus(at_hand, evicted ? evicted->copied : Bytes()));
  }
  at_hand = Plus(Plus(at_hand, process.said.cached), process.said.clean);
  const Lease& host = process.leases[Place::kHost];
  const Bytes kept = Minus(host.grant, host.recall ? host.recall->bytes : Bytes());
  const Bytes free = std::min(free_host, BelowLimits(state, process, Place::kHost));
  const Bytes on_host = std::max(Plus(Minus(kept, process.said.used[Place::kHost]), free),
                                 Minus(kept, PlainShare(state, process, Place::kHost)));
  return std::min(wish, Plus(at_hand, std::min(on_host, state.settings.slice)));
}

Bytes CouldGiveInside(const State& state, const Tenant& tenant, Bytes free_host) {
  Bytes sum;
  for (const ProcessId id : tenant.processes) {
    const Process& process = state.processes.at(id);
    sum = Plus(sum, CouldGive(state, process, Place::kDevice, kAllBytes, free_host));
  }
  for (const TenantId id : tenant.tenants) {
    sum = Plus(sum, CouldGiveInside(state, state.tenants.at(id), free_host));
  }
  return sum;
}

// Somebody could be asked, and was not.
std::string BrokenAsking(const State& state, Place place) {
  const Bytes need = Lacking(state, place);
  const bool exact = Excess(state, place) > Bytes();
  if (need == Bytes() || (need < state.settings.chunk && !exact)) return {};
  const Bytes free_host = ToGive(state, Place::kHost);
  for (const auto& [id, process] : state.processes) {
    const Lease& lease = process.leases[place];
    if (lease.recall || lease.retry_at > state.now) continue;
    const Bytes surplus = Minus(lease.grant, lease.target);
    const Bytes bytes = CouldGive(state, process, place, need, free_host);
    if (bytes == Bytes() || bytes < std::min({state.settings.chunk, surplus, need})) continue;
    const Bytes at_hand = Plus(Plus(Minus(lease.grant, process.said.used[place]),
                                    place == Place::kDevice ? process.said.cached : Bytes()),
                               place == Place::kDevice ? process.said.clean : Bytes());
    const ProcessId evicts = Evicts(state);
    const bool copies = at_hand < std::min({state.settings.chunk, surplus, need});
    if (copies && evicts && evicts != id) continue;
    return absl::StrCat("I2: ", need.value, " bytes are lacking, and process ", id.value,
                        " was not asked for ", bytes.value);
  }
  return {};
}

// A tenant has waited for its guarantee for too long, though there is something to be had.
std::string BrokenGuarantee(const State& state, const Tenant& tenant) {
  if (!tenant.short_since) return {};
  if (state.now - *tenant.short_since <= GuaranteeBound(state)) return {};
  return absl::StrCat("I2: tenant ", tenant.id.value, " is below its guarantee for too long, and ",
                      ToBeHad(state, tenant).value, " bytes could be had");
}

}  // namespace

Bytes ToBeHad(const State& state, const Tenant& tenant) {
  const Bytes free_host = ToGive(state, Place::kHost);
  Bytes least = Plus(ToGive(state, Place::kDevice),
                     CouldGiveInside(state, state.tenants.at(kRoot), free_host));
  for (TenantId id = tenant.id; id != kRoot;) {
    const Tenant& around = state.tenants.at(id);
    const Bytes limit = around.policy.limit[Place::kDevice];
    if (limit != kAllBytes) {
      const Bytes below = Minus(limit, Held(state, around, Place::kDevice));
      least = std::min(least, Plus(below, CouldGiveInside(state, around, free_host)));
    }
    id = around.parent;
  }
  // What each may keep as less than a chunk is not to be had.
  return Minus(least, state.settings.chunk * (state.processes.size() + 1));
}

void NoteShortage(State& state) {
  for (auto& [id, tenant] : state.tenants) {
    const bool answers =
        std::any_of(tenant.processes.begin(), tenant.processes.end(),
                    [&](ProcessId process) { return Responds(state.processes.at(process)); });
    const bool is_short = !state.adopting_until && answers &&
                          BelowGuarantee(state, tenant, Place::kDevice) > Bytes() &&
                          ToBeHad(state, tenant) > Bytes();
    if (!is_short) {
      tenant.short_since.reset();
    } else if (!tenant.short_since) {
      tenant.short_since = state.now;
    }
  }
}

Duration GuaranteeBound(const State& state) {
  const Settings& settings = state.settings;
  const Duration round = settings.deadline + settings.retry;
  // No device has a million slices.
  const uint64_t slices_of_all = state.pools[Place::kDevice].capacity / settings.slice + 1;
  const auto slices = static_cast<int64_t>(std::min<uint64_t>(slices_of_all, 1'000'000));
  const auto processes = static_cast<int64_t>(state.processes.size());
  // Half a slice counts as obedience.
  return 2 * round * slices + processes * (round * settings.most_refusals + settings.fence_after +
                                           settings.longest_rest);
}

std::string BrokenShortage(const State& state) {
  if (state.adopting_until) return {};
  for (const Place place : kPlaces) {
    if (std::string broken = BrokenAsking(state, place); !broken.empty()) return broken;
  }
  for (const auto& [id, tenant] : state.tenants) {
    if (std::string broken = BrokenGuarantee(state, tenant); !broken.empty()) return broken;
  }
  return {};
}

}  // namespace vramspan::broker
