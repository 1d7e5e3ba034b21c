// What each message of a process means.
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <vector>

#include "tools/broker/core/amounts.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/reception.h"
#include "tools/broker/words/said.h"

namespace vramspan::broker {

bool Reception::Asked(const Client& client, const lease::Message& message) {
  const auto process = client.device->state.processes.find(client.id);
  if (process == client.device->state.processes.end()) return false;
  const auto& recall = process->second.leases[PlaceOf(message.memory)].recall;
  return recall && recall->revision.value == message.revision;
}

void Reception::Handle(Client& client, const lease::Message& message) {
  if (message.type == lease::Type::kHello || message.type == lease::Type::kAdopt) {
    return Join(client, message);
  }
  // Before its hello a process has nothing to say.
  if (!client.joined) return;
  Device& device = *client.device;
  switch (message.type) {
    case lease::Type::kWant:
      return Want(client, message);
    case lease::Type::kAck:
      return dispatcher_.Apply(device, AnswerOf(client.id, message));
    case lease::Type::kRoom:
      return dispatcher_.Apply(device, WantsRoom{client.id, message.bytes});
    case lease::Type::kRoomBack:
      return dispatcher_.Apply(device, ReturnsRoom{client.id, message.bytes});
    case lease::Type::kBye:
      dispatcher_.Drop(client, "");
      return inspector_.LookAtDead(client);
    case lease::Type::kHello:
    case lease::Type::kAdopt:
    case lease::Type::kWelcome:
    case lease::Type::kGrant:
    case lease::Type::kRecall:
    case lease::Type::kRoomGiven:
    case lease::Type::kTurn:
    case lease::Type::kRefuse:
      return;
  }
}

void Reception::Want(Client& client, const lease::Message& message) {
  lease::ProcessPage page;
  Said said = client.said;
  if (client.pages->Read(&page)) said = SaidBy(page);
  said.wanted = {{message.bytes, message.more}};
  client.said = said;
  dispatcher_.Apply(*client.device, Says{client.id, said});
}

void Reception::Join(Client& client, const lease::Message& message) {
  if (!MayJoin(client, message)) return Refuse(client, lease::RefuseCode::kDenied);
  StatusOr<std::unique_ptr<PagePair>> pages = PagePair::Make();
  if (!pages.ok()) {
    Journal::Say(pages.status().message());
    return Refuse(client, lease::RefuseCode::kDenied);
  }
  client.pages = *std::move(pages);
  client.shown = {};
  client.said = {};
  client.beat = 0;
  client.beat_at = Now();
  client.stuck = false;
  client.stalled.reset();
  if (!Appears(*client.account, *client.device)) return Refuse(client, lease::RefuseCode::kDenied);
  // The first that comes finds what others have now.
  if (client.device->state.processes.empty()) {
    inspector_.LookAtDevice(*client.device);
    inspector_.LookAtHost();
  }
  // One that held memory uses it, until its page says more.
  PerPlace<Bytes>& told =
      message.type == lease::Type::kHello ? client.said.wanted : client.said.used;
  told = {{message.bytes, message.more}};
  dispatcher_.Arrive(client, ArrivalOf(client, message));
  inspector_.Wake();
}

bool Reception::Appears(Account& account, const Device& device) {
  if (account.appeared) return true;
  account.parent = accounts_.Around(account.cgroup);
  const TenantId parent = account.parent == nullptr ? kRoot : account.parent->id;
  dispatcher_.Apply(TenantAppears{account.id, parent, account.policy, accounts_.Drained(account)});
  account.appeared = device.state.tenants.contains(account.id);
  if (!account.appeared) Journal::Say(absl::StrCat(account.name, ": the core does not take it"));
  return account.appeared;
}

bool Reception::MayJoin(Client& client, const lease::Message& message) {
  if (client.joined || client.ended) return false;
  client.device = maker_.For(message.device);
  if (client.device == nullptr) return false;
  std::vector<ProcessId> former;
  for (const auto& [id, other] : clients_) {
    if (!other->joined || other->device != client.device) continue;
    if (other->peer.pid != client.peer.pid) continue;
    // Once for each device.
    if (other->socket) return false;
    former.push_back(id);
  }
  // What its last connection held is what it speaks of now. One that says hello speaks of nothing,
  // and what nobody believes says nothing: those bytes are waited for as any dead process's.
  const bool believed = machine_.sees_use() || client.device->state.adopting_until.has_value();
  if (message.type != lease::Type::kAdopt || !believed) return true;
  for (const ProcessId id : former) dispatcher_.Apply(*client.device, BytesGone{id});
  return true;
}

Happening Reception::ArrivalOf(const Client& client, const lease::Message& message) {
  const TenantId tenant = client.account->id;
  const bool drained = drains_.Has(client.peer);
  if (message.type == lease::Type::kHello) return Joins{client.id, tenant, client.said, drained};
  Adopts adopts = {.process = client.id,
                   .tenant = tenant,
                   .revision = Revision(message.revision),
                   .grants = {{message.bytes, message.more}},
                   .room = message.rest,
                   .said = client.said,
                   .drained = drained};
  if (!machine_.sees_use()) return adopts;
  const StatusOr<DeviceUse> use = machine_.Look(client.device->uuid);
  if (!use.ok()) return adopts;
  const auto found = use->processes.find(client.peer.pid);
  if (found == use->processes.end() || !found->second) return adopts;
  // Nobody sees which of its bytes are which. What its grant does not explain may be its room.
  const Bytes seen = *found->second;
  adopts.proven[Place::kDevice] = seen;
  // More than may be asked for is no room: nobody could get it back.
  adopts.proven_room =
      std::min(Minus(seen, message.bytes), client.device->state.settings.most_room);
  return adopts;
}

void Reception::Refuse(Client& client, lease::RefuseCode code) {
  lease::Message message;
  message.type = lease::Type::kRefuse;
  message.code = static_cast<uint8_t>(code);
  client.since = Now();
  dispatcher_.Tell(client, message);
}

}  // namespace vramspan::broker
