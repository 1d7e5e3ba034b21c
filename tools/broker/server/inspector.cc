#include "tools/broker/server/inspector.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/broker/core/amounts.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/words/said.h"

namespace vramspan::broker {
namespace {

constexpr Duration kRound = std::chrono::milliseconds(200);
// The memory of dead processes is free again some 160 ms after they ended: others wait for it.
constexpr Duration kRoundOfDeath = std::chrono::milliseconds(20);
// One that was stopped is stuck when its beat is late. One that was not may only be slow.
constexpr int kLateBeats = 4;
// Who has connected and says nothing. A choice.
constexpr Duration kSilence = std::chrono::seconds(10);
// What others use changes all the time. Less than this is no news: of a device; of the host, one
// part in so many.
constexpr Bytes kNews = MiB(1);
constexpr uint64_t kHostNews = 50;
// So many threads of a process may wait at once; what it says is believed so far. A choice.
constexpr int kMostStalled = 1024;

bool IsNews(Bytes before, Bytes now, Bytes least) {
  return (before > now ? before - now : now - before) >= least;
}

// As far as the core believes it.
Bytes UsedBy(const Client& client, Place place) {
  const auto found = client.device->state.processes.find(client.id);
  return found == client.device->state.processes.end() ? Bytes() : found->second.said.used[place];
}

bool IsStopped(char state) { return state == 'T' || state == 't' || state == 'Z' || state == 'X'; }

}  // namespace

Inspector::Inspector(Dispatcher& dispatcher, Accounts& accounts, Devices& devices, Clients& clients,
                     Machine& machine, const HostMemory& host, const DeviceMaker& maker, Roll& roll)
    : dispatcher_(dispatcher),
      accounts_(accounts),
      devices_(devices),
      clients_(clients),
      machine_(machine),
      host_(host),
      maker_(maker),
      roll_(roll) {}

Status Inspector::Start(Loop& loop, std::function<void(Instant)> round) {
  round_ = std::move(round);
  return alarm_.Start(loop, [this] { Look(); });
}

void Inspector::Wake() {
  if (!alarm_.is_set()) alarm_.Set(After(Now(), kRound));
}

void Inspector::Look() {
  const Instant now = Now();
  LookAtClients(now);
  if (machine_.sees_use()) {
    for (auto& [uuid, device] : devices_) {
      if (!device.state.processes.empty()) LookAtDevice(device);
    }
  }
  LookAtHost();
  const bool swept = Sweep(now);
  round_(now);
  const Status kept = roll_.Keep(clients_);
  if (!kept.ok()) Journal::Say(kept.message());
  if (AnybodyDying() && machine_.sees_use()) {
    alarm_.Set(After(now, kRoundOfDeath));
  } else if (!clients_.empty() || !swept) {
    alarm_.Set(After(now, kRound));
  }
}

bool Inspector::AnybodyDying() const {
  for (const auto& [id, client] : clients_) {
    if (client->joined && !client->socket) return true;
  }
  return false;
}

void Inspector::LookAtClients(Instant now) {
  std::vector<Client*> all;
  for (const auto& [id, client] : clients_) all.push_back(client.get());
  for (Client* const client : all) {
    if (!client->socket) continue;
    if (!client->joined) {
      if (After(client->since, kSilence) <= now) dispatcher_.Drop(*client, "");
      continue;
    }
    Allowance& allowance = client->account->allowance;
    allowance.Fill(now);
    LookAtBeat(*client, now);
    if (allowance.empty()) continue;
    const Duration before = Spent();
    LookAtPage(*client);
    allowance.Charge(Spent() - before);
  }
}

void Inspector::LookAtPage(Client& client) {
  lease::ProcessPage page;
  if (!client.joined || !client.pages->Read(&page)) return;
  CountStall(client, page.stalled);
  const Said said = SaidBy(page);
  if (SameWords(said, client.said)) return;
  client.said = said;
  dispatcher_.Apply(*client.device, Says{client.id, said});
}

void Inspector::CountStall(Client& client, uint64_t stalled) {
  const Instant now = Now();
  // It may have waited before it came here, which another broker has counted.
  if (client.stalled && stalled > *client.stalled) {
    const Duration passed = std::min<Duration>(now - client.stalled_at, std::chrono::hours(1));
    const Duration most = kMostStalled * passed;
    const uint64_t more = std::min(stalled - *client.stalled, static_cast<uint64_t>(most.count()));
    Duration& sum = client.account->tallies[client.device].stalled;
    sum += Duration(std::min(more, static_cast<uint64_t>((Duration::max() - sum).count())));
  }
  client.stalled = stalled;
  client.stalled_at = now;
}

void Inspector::LookAtBeat(Client& client, Instant now) {
  lease::ProcessPage page;
  if (client.pages->Read(&page) && page.beat != client.beat) {
    client.beat = page.beat;
    client.beat_at = now;
    if (std::exchange(client.stuck, false)) dispatcher_.Apply(*client.device, Beats{client.id});
    return;
  }
  const Duration late = now - client.beat_at;
  if (client.stuck || late <= Dispatcher::kBeat) return;
  if (!IsStopped(ProcessState(client.peer.pid)) && late <= kLateBeats * Dispatcher::kBeat) return;
  client.stuck = true;
  dispatcher_.Apply(*client.device, IsStuck{client.id});
}

void Inspector::LookAtDevice(Device& device) {
  if (!machine_.sees_use()) return;
  const StatusOr<DeviceUse> use = machine_.Look(device.uuid);
  if (!use.ok()) {
    // What was seen last holds until it is seen again.
    Journal::Say(absl::StrCat(device.name, ": ", use.status().message()));
    return;
  }
  Bytes ours;
  std::vector<Client*> all;
  for (const auto& [id, client] : clients_) {
    if (client->joined && client->device == &device) all.push_back(client.get());
  }
  for (Client* const client : all) Measure(device, *client, *use, &ours);
  const Bytes foreign = Minus(use->used, ours);
  const Pool& pool = device.state.pools[Place::kDevice];
  if (use->capacity != pool.capacity) {
    dispatcher_.Apply(device, CapacityIs{Place::kDevice, use->capacity});
  }
  if (IsNews(pool.foreign, foreign, kNews)) {
    dispatcher_.Apply(device, ForeignIs{Place::kDevice, foreign});
  }
}

void Inspector::Measure(Device& device, Client& client, const DeviceUse& use, Bytes* ours) {
  const auto found = use.processes.find(client.peer.pid);
  const bool there = found != use.processes.end();
  if (there && !found->second) {
    // Nobody says how much it has: what it says itself is all there is.
    *ours = Plus(*ours, UsedBy(client, Place::kDevice));
    return;
  }
  const Bytes bytes = there ? *found->second : Bytes();
  *ours = Plus(*ours, bytes);
  if (!client.socket) {
    if (bytes == Bytes()) {
      dispatcher_.Apply(device, BytesGone{client.id});
    } else if (client.ended) {
      dispatcher_.Apply(device, Measured{client.id, bytes});
    }
    return;
  }
  Bytes& measured = device.measured[client.id];
  if (std::exchange(measured, bytes) != bytes) {
    dispatcher_.Apply(device, Measured{client.id, bytes});
  }
}

void Inspector::LookAtDead(Client& client) {
  if (!client.joined || client.socket) return;
  if (machine_.sees_use()) {
    alarm_.Set(After(Now(), kRoundOfDeath));
  } else {
    dispatcher_.Apply(*client.device, BytesGone{client.id});
  }
}

void Inspector::LookAtHost() {
  if (host_.stated()) return;
  const StatusOr<HostUse> use = host_.Look();
  if (!use.ok()) return Journal::Say(use.status().message());
  const Bytes capacity = maker_.HostShare(host_.Granted(use->total));
  Bytes ours;
  for (const auto& [id, client] : clients_) {
    if (client->joined) ours = Plus(ours, UsedBy(*client, Place::kHost));
  }
  // What processes here have pinned is theirs, and no other's.
  const Bytes others = Minus(Minus(use->total, use->available), ours);
  const Bytes foreign = maker_.HostShare(others);
  for (auto& [uuid, device] : devices_) {
    const Pool& pool = device.state.pools[Place::kHost];
    if (pool.capacity != capacity) {
      dispatcher_.Apply(device, CapacityIs{Place::kHost, capacity});
    }
    if (IsNews(pool.foreign, foreign, Bytes(capacity.value / kHostNews))) {
      dispatcher_.Apply(device, ForeignIs{Place::kHost, foreign});
    }
  }
}

bool Inspector::Sweep(Instant now) {
  bool all = true;
  for (Account* const account : accounts_.All()) {
    account->allowance.Fill(now);
    const bool used = account->source != Source::kPresent || account->drained ||
                      account->connections > 0 || account->processes > 0;
    if (!used && std::exchange(account->appeared, false)) {
      dispatcher_.Apply(TenantLeaves{account->id});
    }
    // What it has cost is remembered while it matters.
    if (used) continue;
    if (account->allowance.full()) {
      accounts_.Erase(*account);
    } else {
      all = false;
    }
  }
  return all;
}

}  // namespace vramspan::broker
