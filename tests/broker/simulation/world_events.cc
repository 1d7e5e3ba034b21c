// What happens from outside.
#include <algorithm>

#include "tests/broker/simulation/world.h"
#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"

namespace vramspan::broker::simulation {

void World::Disturb() {
  Client* const client = AnyClient();
  const Bytes capacity = state_.pools[Place::kDevice].capacity;
  switch (Below(40)) {
    case 0:
      if (tenants_.size() < 6) MakeTenant();
      return;
    case 1:
    case 2:
      if (clients_.size() < 12) Join();
      return;
    case 3:
      Tell({now_, ForeignIs{OneIn(4) ? Place::kHost : Place::kDevice,
                            OneIn(20) ? AnyBytes() : UpTo(Bytes(capacity.value / 3))}});
      return;
    case 4:
      if (OneIn(4)) Tell({now_, CapacityIs{Place::kDevice, GiB(2 + Below(80))}});
      return;
    case 5:
      Tell({now_, PolicyChanges{tenants_[Below(tenants_.size())], AnyPolicy()}});
      return;
    case 6:
      if (OneIn(10)) Restart();
      return;
    case 7: {
      const TenantId tenant = tenants_[Below(tenants_.size())];
      Tell({now_, TenantLeaves{tenant}});
      if (!state_.tenants.contains(tenant)) std::erase(tenants_, tenant);
      if (tenants_.empty()) MakeTenant();
      return;
    }
    case 8:  // Nobody that is there.
      Tell({now_, Says{ProcessId(random_()), Lie()}});
      Tell({now_, Acknowledges{ProcessId(random_()), Place::kDevice, Revision(1), {}, {}}});
      return;
    case 9:
      Tell({now_, TenantDrains{OneIn(6) ? kRoot : tenants_[Below(tenants_.size())], OneIn(3)}});
      return;
    case 10:
      if (client != nullptr) Tell({now_, ProcessDrains{client->id, OneIn(3)}});
      return;
    default:
      if (client != nullptr)
        DisturbClient(*client);
      else
        Join();
  }
}

void World::DisturbClient(Client& client) {
  const ProcessId id = client.id;
  const Bytes capacity = state_.pools[Place::kDevice].capacity;
  switch (Below(20)) {
    case 0:
      client.stuck = true;
      Tell({now_, IsStuck{id}});
      return;
    case 1:
    case 2:
    case 3:
      client.stuck = false;
      Tell({now_, Beats{id}});
      return;
    case 4:
      Tell({now_, Dies{id}});
      if (OneIn(2)) Tell({now_, BytesGone{id}});
      return;
    case 5:
      Tell({now_, BytesGone{id}});
      return;
    case 6:
      if (!client.honest() && OneIn(3))
        Tell({now_, WantsRoom{id, AnyBytes()}});
      else
        Tell({now_, WantsRoom{id, MiB(Below(1024))}});
      return;
    case 7: {
      const Bytes bytes = client.honest() ? UpTo(client.room) : AnyBytes();
      // Nobody listens to the dying.
      if (state_.processes.at(id).state != LeaseState::kDying) {
        client.room = Minus(client.room, bytes);
      }
      Tell({now_, ReturnsRoom{id, bytes}});
      return;
    }
    case 8:
      Tell({now_,
            Measured{id, client.honest() ? client.used[Place::kDevice]
                                         : Plus(client.grants[Place::kDevice], UpTo(GiB(2)))}});
      return;
    case 9:
      Tell({now_, Measured{id, Bytes()}});
      return;
    default:
      if (client.stuck) return;
      if (OneIn(3)) client.need = UpTo(capacity);
      if (OneIn(5)) client.cold = UpTo(Bytes(capacity.value / 4));
      if (OneIn(5)) client.cached = UpTo(Bytes(capacity.value / 8));
      if (OneIn(3)) client.need = Plus(client.need, MiB(Below(64)));  // It leaks.
      Speak(client);
  }
}

void World::Join() {
  const ProcessId id(next_id_++);
  Client& client = clients_[id];
  client.id = id;
  client.tenant = tenants_[Below(tenants_.size())];
  client.manner = OneIn(2) ? Manner::kHonest : static_cast<Manner>(Below(6));
  client.need = UpTo(state_.pools[Place::kDevice].capacity);
  client.takes_turns = !OneIn(4);
  client.worked_until = now_;
  Tell({now_, Joins{id, client.tenant, client.Says()}});
  // Twice is once.
  if (OneIn(10)) Tell({now_, Joins{id, client.tenant, client.Says()}});
}

Policy World::AnyPolicy() {
  Policy policy;
  const Bytes capacity = state_.pools[Place::kDevice].capacity;
  policy.weight = static_cast<uint32_t>(1 + Below(OneIn(2) ? 4 : kMostWeight + 2));
  policy.klass = static_cast<Class>(Below(3));
  if (OneIn(2)) policy.guarantee[Place::kDevice] = UpTo(Bytes(capacity.value / 2));
  if (OneIn(3)) {
    policy.limit[Place::kDevice] = Plus(policy.guarantee[Place::kDevice], UpTo(capacity));
  }
  if (OneIn(6)) policy.guarantee[Place::kHost] = UpTo(GiB(20));
  if (OneIn(6)) {
    policy.limit[Place::kHost] = Plus(policy.guarantee[Place::kHost], UpTo(GiB(40)));
  }
  return policy;
}

void World::MakeTenant() {
  const TenantId id(next_id_++);
  const TenantId parent = tenants_.empty() || !OneIn(3) ? kRoot : tenants_[Below(tenants_.size())];
  Tell({now_, TenantAppears{id, parent, AnyPolicy()}});
  if (!state_.tenants.contains(id)) Tell({now_, TenantAppears{id, parent, Policy()}});
  if (state_.tenants.contains(id)) tenants_.push_back(id);
}

// The broker dies, and another begins. It knows the machine, and what processes claim.
void World::Restart() {
  ++seen_.restarts;
  const State old = state_;
  state_ = State(old.settings);
  for (const Place place : kPlaces) {
    Tell({now_, CapacityIs{place, old.pools[place].capacity}});
    Tell({now_, ForeignIs{place, old.pools[place].foreign}});
  }
  Tell({now_, TenantDrains{kRoot, old.tenants.at(kRoot).drained}});
  // A tenant's number is larger than that of the one around it.
  for (const auto& [id, tenant] : old.tenants) {
    if (id == kRoot) continue;
    Policy policy = tenant.policy;
    Tell({now_, TenantAppears{id, tenant.parent, policy, tenant.drained}});
    policy.guarantee = {};  // What the capacity no longer holds is promised to nobody again.
    if (!state_.tenants.contains(id))
      Tell({now_, TenantAppears{id, tenant.parent, policy, tenant.drained}});
  }
  std::erase_if(clients_, [&](const auto& entry) {
    return old.processes.at(entry.first).state == LeaseState::kDying;
  });
  Tell({now_, Restarts{clients_.size() + Below(2)}});
  std::vector<ProcessId> ids;
  for (auto& [id, client] : clients_) ids.push_back(id);
  std::shuffle(ids.begin(), ids.end(), random_);
  for (const ProcessId id : ids) {
    Client& client = clients_.at(id);
    client.answers = {};
    client.holds = false;
    client.evicts = client.fetches = client.fenced = client.waits_for_room = false;
    client.stuck = false;
    Adopts adopts{.process = id, .tenant = client.tenant, .revision = client.revision};
    adopts.grants = client.grants;
    adopts.room = client.room;
    adopts.said = client.Says();
    adopts.drained = old.processes.at(id).drained;
    const bool proven = !OneIn(6);
    if (proven) {
      for (const Place place : kPlaces) adopts.proven[place] = client.grants[place];
      adopts.proven_room = client.room;
    }
    if (client.manner == Manner::kLying) {
      adopts.grants = {{AnyBytes(), AnyBytes()}};
      adopts.said = Lie();
      client.grants = {{std::min(client.grants[Place::kDevice], adopts.grants[Place::kDevice]),
                        std::min(client.grants[Place::kHost], adopts.grants[Place::kHost])}};
      client.used = client.grants;
    }
    if (OneIn(10)) {
      now_ += std::chrono::milliseconds(Below(1000));
      if (!state_.adopting_until || *state_.adopting_until <= now_) {
        Tell({now_, TimePasses{}});
      }
    }
    if (!proven) {
      // It uses nothing until it hears that it may.
      client.grants = client.used = {};
      client.room = Bytes();
    }
    if (!proven && !state_.adopting_until) {
      // Too late: it lets everything go, and comes as a new one.
      client.revision = Revision();
      Tell({now_, Joins{id, client.tenant, client.Says()}});
    } else {
      Tell({now_, adopts});
    }
    if (!failure_.empty()) return;
  }
}

}  // namespace vramspan::broker::simulation
