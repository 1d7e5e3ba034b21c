// Quiet times: nothing changes from outside. Then everybody comes to have what is due, and stays
// so.
#include <absl/strings/str_cat.h>

#include <algorithm>

#include "tests/broker/simulation/reference.h"
#include "tests/broker/simulation/world.h"
#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/recalls.h"

namespace vramspan::broker::simulation {

void World::Crowd() {
  ++seen_.crowded;
  const Bytes capacity = state_.pools[Place::kDevice].capacity;
  std::vector<ProcessId> ids;
  for (auto& [id, client] : clients_) {
    ids.push_back(id);
    if (!OneIn(4)) client.need = Plus(Bytes(capacity.value / 3), UpTo(capacity));
  }
  const Instant end = now_ + std::chrono::seconds(5 + Below(120));
  while (failure_.empty() && now_ < end) {
    const Instant next = now_ + std::chrono::milliseconds(200);
    while (failure_.empty() && Next(next)) {
    }
    now_ = next;
    for (const ProcessId id : ids) {
      const auto found = clients_.find(id);
      if (found != clients_.end() && !found->second.stuck) Speak(found->second);
    }
    if (OneIn(100)) Disturb();
  }
}

void World::Quiet() {
  // Nobody works: turns end, since nobody wants them.
  for (auto& [id, client] : clients_) {
    client.WorkUntil(now_);
    client.rests = true;
  }
  ++seen_.quiet;
  // Whoever can is decent for a while. The stuck and the silent stay so.
  std::map<ProcessId, Manner> manners;
  for (auto& [id, client] : clients_) {
    manners[id] = client.manner;
    if (client.manner == Manner::kPiecemeal || client.manner == Manner::kDeferring ||
        client.manner == Manner::kLying) {
      client.manner = Manner::kHonest;
    }
  }
  std::vector<ProcessId> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  const auto run = [&](Duration time) {
    const Instant end = now_ + time;
    while (failure_.empty() && Next(end)) {
    }
    now_ = end;
    for (const ProcessId id : ids) {
      const auto found = clients_.find(id);
      if (found != clients_.end() && !found->second.stuck) Speak(found->second);
    }
  };
  // Fences, paroles, deaths and what was said before come to their ends first.
  for (int i = 0; i < 10; ++i) run(std::chrono::seconds(1));
  for (int i = 0; i < 200 && state_.gpu.on && failure_.empty(); ++i) run(std::chrono::seconds(1));
  if (state_.gpu.on) Fail("turns on the GPU that nobody wants");
  // What was remembered of the last is forgotten.
  for (int i = 0; i < 10; ++i) run(std::chrono::seconds(1));
  const uint64_t fences = seen_.fences + seen_.unfences;
  const double surplus = Surplus();
  recalled_ = Bytes();
  // The slow take a quarter of a second for a slice.
  for (int i = 0; i < 400 && failure_.empty(); ++i) {
    const bool waits = Coming(state_, Place::kDevice) > Bytes() ||
                       Coming(state_, Place::kHost) > Bytes() ||
                       Lacking(state_, Place::kDevice) >= state_.settings.chunk;
    if (i >= 20 && !waits) break;
    run(std::chrono::seconds(1));
  }
  // Where the host is full, what can be evicted depends on who fetches meanwhile.
  const bool host_has_room = HostHasRoom();
  if (host_has_room) CheckShares();
  // Where nobody came to answer, or ceased to, targets stayed: what was too much is recalled once.
  if (fences == seen_.fences + seen_.unfences && Obedient()) {
    ++seen_.steady;
    const double recalled = static_cast<double>(recalled_.value);
    if (recalled > surplus) {
      Fail(absl::StrCat(recalled, " bytes were recalled, and ", surplus, " were to be recalled"));
    }
    const uint64_t grants = seen_.grants;
    for (int i = 0; i < 10 && failure_.empty(); ++i) run(std::chrono::seconds(1));
    if (host_has_room && grants != seen_.grants) Fail("grants change though nothing else does");
  }
  for (auto& [id, client] : clients_) {
    client.manner = manners[id];
    client.WorkUntil(now_);
    client.rests = false;
  }
}

bool World::HostHasRoom() const { return HostHasRoom(state_.tenants.at(kRoot)).has_value(); }

std::optional<Bytes> World::HostHasRoom(const Tenant& tenant) const {
  Bytes used;
  for (const ProcessId id : tenant.processes) {
    const Process& process = state_.processes.at(id);
    used = Plus(
        used, Responds(process) ? Used(process, Place::kHost) : process.leases[Place::kHost].grant);
  }
  for (const TenantId id : tenant.tenants) {
    const std::optional<Bytes> inside = HostHasRoom(state_.tenants.at(id));
    if (!inside) return std::nullopt;
    used = Plus(used, *inside);
  }
  const Bytes most = std::min(Room(state_, Place::kHost), tenant.policy.limit[Place::kHost]);
  if (Plus(used, state_.settings.slice) > most) return std::nullopt;
  return used;
}

bool World::Obedient() const {
  return std::none_of(clients_.begin(), clients_.end(), [](const auto& entry) {
    return !entry.second.stuck && entry.second.manner == Manner::kSilent;
  });
}

double World::Surplus() const {
  double sum = 0;
  for (const auto& [id, due] : ReferenceGrants(state_)) {
    const Process& process = state_.processes.at(id);
    if (!Responds(process)) continue;
    // And what is less than a chunk, and what doubles do not know.
    const double grant = static_cast<double>(process.leases[Place::kDevice].grant.value);
    sum += std::max(0.0, grant - due) + static_cast<double>(state_.settings.chunk.value);
  }
  return sum;
}

void World::CheckShares() {
  if (!failure_.empty()) return;
  const std::map<ProcessId, double> due = ReferenceGrants(state_);
  const double chunk = static_cast<double>(state_.settings.chunk.value);
  for (const auto& [id, process] : state_.processes) {
    if (!Responds(process)) continue;
    const double grant = static_cast<double>(process.leases[Place::kDevice].grant.value);
    const auto client = clients_.find(id);
    const bool willing = client != clients_.end() && client->second.manner != Manner::kSilent;
    if (process.drains && grant > 0 && willing) {
      Fail(absl::StrCat("process ", id.value, " drains, and has ", grant, " yet"));
    }
    if (process.drains) ++seen_.drained;
    // Doubles know 80 GiB to the 16th of a byte; sums of some of them to less.
    if (grant + chunk + 64 < due.at(id)) {
      Fail(absl::StrCat("process ", id.value, " has ", grant, " of ", due.at(id),
                        " that are due to it"));
    }
  }
  ++seen_.converged;
}

}  // namespace vramspan::broker::simulation
