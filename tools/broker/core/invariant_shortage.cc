#include <absl/strings/str_cat.h>

#include <algorithm>
#include <optional>

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
  const Bytes on_host =
      Plus(Minus(process.leases[Place::kHost].grant, process.said.used[Place::kHost]), free_host);
  return std::min(wish, Plus(at_hand, std::min(on_host, state.settings.slice)));
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
                      ToBeHad(state).value, " bytes could be had");
}

}  // namespace

Bytes ToBeHad(const State& state) {
  const Bytes free_host = ToGive(state, Place::kHost);
  Bytes sum = ToGive(state, Place::kDevice);
  for (const auto& [id, process] : state.processes) {
    sum = Plus(sum, CouldGive(state, process, Place::kDevice, kAllBytes, free_host));
  }
  // What each may keep as less than a chunk is not to be had.
  return Minus(sum, state.settings.chunk * (state.processes.size() + 1));
}

void NoteShortage(State& state) {
  std::optional<bool> to_be_had;  // The same for all, and looked for once.
  for (auto& [id, tenant] : state.tenants) {
    const bool answers =
        std::any_of(tenant.processes.begin(), tenant.processes.end(),
                    [&](ProcessId process) { return Responds(state.processes.at(process)); });
    bool is_short =
        !state.adopting_until && answers && BelowGuarantee(state, tenant, Place::kDevice) > Bytes();
    if (is_short && !to_be_had) to_be_had = ToBeHad(state) > Bytes();
    is_short = is_short && *to_be_had;
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
