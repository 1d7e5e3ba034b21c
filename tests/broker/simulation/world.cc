#include "tests/broker/simulation/world.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <cstdio>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/invariants.h"
#include "tools/broker/core/recalls.h"

namespace vramspan::broker::simulation {

World::World(const WorldOptions& options) : options_(options), random_(options.seed) {
  Settings settings;
  if (OneIn(3)) settings.least_reserve = MiB(64);
  state_ = State(settings);
  Tell({now_, CapacityIs{Place::kDevice, GiB(2 + Below(80))}});
  Tell({now_, CapacityIs{Place::kHost, OneIn(3) ? GiB(1 + Below(8)) : GiB(400)}});
  for (uint64_t i = Below(4) + 1; i > 0; --i) MakeTenant();
}

bool World::Run() {
  while (failure_.empty() && seen_.events < options_.events) {
    const Instant end = now_ + std::chrono::microseconds(1 + Below(OneIn(20) ? 2'000'000 : 20'000));
    while (failure_.empty() && Next(end)) {
    }
    now_ = end;
    if (failure_.empty()) Disturb();
    if (failure_.empty() && OneIn(150)) Quiet();
    if (failure_.empty() && OneIn(300)) Crowd();
  }
  return failure_.empty();
}

bool World::Next(Instant end) {
  Client* next = nullptr;
  const Answer* answer = nullptr;
  Instant at = Instant::max();
  for (auto& [id, client] : clients_) {
    if (client.stuck) continue;
    if (client.speaks_at && *client.speaks_at < at) {
      next = &client;
      answer = nullptr;
      at = *client.speaks_at;
    }
    for (const auto& waiting : client.answers.values) {
      if (!waiting || waiting->at >= at) continue;
      next = &client;
      answer = &*waiting;
      at = waiting->at;
    }
  }
  const std::optional<Instant> due = Due(state_);
  if (due && *due <= end && *due <= at) {
    now_ = std::max(now_, *due);
    Tell({now_, TimePasses{}});
    return true;
  }
  if (at > end) return false;
  now_ = std::max(now_, at);
  if (answer != nullptr) {
    GiveAnswer(*next, Answer(*answer));
  } else {
    Speak(*next);
  }
  return true;
}

void World::Tell(const Event& event) {
  if (!failure_.empty()) return;
  ++seen_.events;
  // Now and then somebody asks too early: before the time that it named there is nothing to do.
  if (OneIn(8) && now_ > state_.now) {
    const std::optional<Instant> due = Due(state_);
    if (!due || *due > now_) {
      const Actions actions = Decide(state_, {now_, TimePasses{}});
      if (!actions.empty()) {
        Fail(absl::StrCat("Due missed an action of kind ", static_cast<int>(actions[0].kind)));
      }
    }
  }
  if (options_.log)
    std::printf("%lld %zu\n", static_cast<long long>(now_.time_since_epoch().count()),
                event.what.index());
  const Actions actions = Decide(state_, event);
  for (const Action& action : actions) Carry(action);
  Check(actions);
}

void World::Check(const Actions& actions) {
  const std::string broken = BrokenInvariant(state_);
  if (!broken.empty()) Fail(broken);
  for (const auto& [id, client] : clients_) {
    const auto found = state_.processes.find(id);
    if (found == state_.processes.end()) continue;
    const Process& process = found->second;
    for (const Place place : kPlaces) {
      if (client.grants[place] != process.leases[place].grant) {
        Fail(absl::StrCat("process ", id.value, " was told ", client.grants[place].value,
                          " and the broker thinks ", process.leases[place].grant.value));
      }
      if (client.honest() && client.used[place] > client.grants[place]) {
        Fail(absl::StrCat("process ", id.value, " uses more than it may"));
      }
    }
    if (client.room != process.room) Fail("a room that nobody was told of");
    if (client.holds != process.part.holds) Fail("a turn on the GPU is told wrongly");
    if (client.evicts != (state_.evict.holder == id)) Fail("the turn to evict is told wrongly");
    if (client.fetches != (state_.fetch.holder == id)) Fail("the turn to fetch is told wrongly");
  }
  for (const Action& action : actions) {
    hash_ = hash_ * 31 + action.bytes.value + action.process.value * 7 + action.revision.value +
            static_cast<uint64_t>(action.kind);
  }
}

void World::Carry(const Action& action) {
  if (options_.log) {
    std::printf("    action %d of %llu: %llu place %d rev %llu refusal %d\n",
                static_cast<int>(action.kind), (unsigned long long)action.process.value,
                (unsigned long long)action.bytes.value, static_cast<int>(action.place),
                (unsigned long long)action.revision.value, static_cast<int>(action.refusal));
  }
  using Kind = Action::Kind;
  if (action.kind == Kind::kRefuse) ++seen_.refusals;
  const auto found = clients_.find(action.process);
  if (found == clients_.end()) return;
  Client& client = found->second;
  if (action.kind == Kind::kGrant || action.kind == Kind::kRecall) {
    if (action.revision.value != client.revision.value + 1) Fail("a revision is left out");
    client.revision = action.revision;
  }
  switch (action.kind) {
    case Kind::kGrant:
      ++seen_.grants;
      // Less only as the answer to what it gave, which it knows.
      if (action.bytes < client.grants[action.place]) Fail("a grant that shrank by itself");
      if (action.bytes > client.grants[action.place]) {
        const Bytes more = action.bytes - client.grants[action.place];
        client.speaks_at = now_ + std::chrono::nanoseconds(more.value / 47 + 50'000);
        // On the device a room may have come at the same instant: grants give way to it.
        if (action.place == Place::kHost && BeyondLimit(client.tenant, action.place)) {
          Fail("a grant that rose beyond a limit");
        }
      }
      client.grants[action.place] = action.bytes;
      break;
    case Kind::kRecall:
      ++seen_.recalls;
      Recalled(client, action);
      break;
    case Kind::kRoom:
      ++seen_.rooms;
      client.room = Plus(client.room, action.bytes);
      client.waits_for_room = false;
      break;
    case Kind::kRefuse:
      if (action.refusal == Refusal::kNoRoom) client.waits_for_room = false;
      break;
    case Kind::kGiveTurn:
    case Kind::kTakeTurn:
      (action.direction == Direction::kEvict ? client.evicts : client.fetches) =
          action.kind == Kind::kGiveTurn;
      break;
    case Kind::kHoldWork:
    case Kind::kLetWork:
      client.WorkUntil(now_);
      client.holds = action.kind == Kind::kHoldWork;
      ++seen_.turns;
      client.speaks_at = now_ + std::chrono::microseconds(100 + Below(100'000));
      break;
    case Kind::kFence:
    case Kind::kUnfence:
      (action.kind == Kind::kFence ? seen_.fences : seen_.unfences)++;
      client.fenced = action.kind == Kind::kFence;
      break;
    case Kind::kOverrun:
      ++seen_.overruns;
      break;
    case Kind::kForget:
      ++seen_.forgotten;
      clients_.erase(found);
      break;
  }
}

bool World::BeyondLimit(TenantId id, Place place) const {
  for (; id != kRoot; id = state_.tenants.at(id).parent) {
    const Tenant& tenant = state_.tenants.at(id);
    if (Held(state_, tenant, place) > tenant.policy.limit[place]) return true;
  }
  return false;
}

Bytes World::AnyBytes() {
  switch (Below(4)) {
    case 0:
      return Bytes(random_());
    case 1:
      return Bytes(UINT64_MAX - Below(3));
    case 2:
      return Bytes(Below(3));
    default:
      return Bytes(uint64_t{1} << Below(64));
  }
}

void World::Print() const {
  for (const Place place : kPlaces) {
    std::printf("%s: room %llu free %llu excess %llu excused %llu coming %llu lacking %llu\n",
                place == Place::kDevice ? "device" : "host",
                (unsigned long long)Room(state_, place).value,
                (unsigned long long)Free(state_, place).value,
                (unsigned long long)Excess(state_, place).value,
                (unsigned long long)state_.pools[place].excess.value,
                (unsigned long long)Coming(state_, place).value,
                (unsigned long long)Lacking(state_, place).value);
  }
  for (const auto& [id, tenant] : state_.tenants) {
    std::printf("tenant %llu in %llu weight %u guarantee %llu limit %llu\n",
                (unsigned long long)id.value, (unsigned long long)tenant.parent.value,
                tenant.policy.weight,
                (unsigned long long)tenant.policy.guarantee[Place::kDevice].value,
                (unsigned long long)tenant.policy.limit[Place::kDevice].value);
  }
  for (const auto& [id, process] : state_.processes) {
    std::printf("process %llu of %llu state %d stuck %d overran %d room %llu measured %llu\n",
                (unsigned long long)id.value, (unsigned long long)process.tenant.value,
                static_cast<int>(process.state), process.stuck, process.overran,
                (unsigned long long)process.room.value, (unsigned long long)process.measured.value);
    for (const Place place : kPlaces) {
      const Lease& lease = process.leases[place];
      std::printf(
          "  %s grant %llu target %llu used %llu demand %llu hungry %d recall %llu rest %lld "
          "retry %lld\n",
          place == Place::kDevice ? "device" : "host", (unsigned long long)lease.grant.value,
          (unsigned long long)lease.target.value, (unsigned long long)Used(process, place).value,
          (unsigned long long)Demand(process, place).value, lease.hungry,
          (unsigned long long)(lease.recall ? lease.recall->bytes.value : 0),
          (long long)((lease.rest_until - state_.now).count()),
          (long long)((lease.retry_at - state_.now).count()));
    }
  }
}

void World::Fail(const std::string& why) {
  if (failure_.empty() && options_.log) Print();
  if (failure_.empty()) {
    failure_ = absl::StrCat("seed ", options_.seed, ", event ", seen_.events, ": ", why);
  }
}

}  // namespace vramspan::broker::simulation
