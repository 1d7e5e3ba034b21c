#include "tools/broker/server/dispatcher.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/decide.h"
#include "tools/broker/server/clock.h"
#include "tools/broker/server/hang_up.h"
#include "tools/broker/server/journal.h"
#include "tools/broker/server/socket.h"
#include "tools/broker/words/said.h"

namespace vramspan::broker {

Dispatcher::Dispatcher(Loop& loop, Devices& devices, Clients& clients)
    : loop_(loop), devices_(devices), clients_(clients) {}

Status Dispatcher::Start() {
  return due_.Start(loop_, [this] { Apply(TimePasses{}); });
}

void Dispatcher::Apply(Device& device, Happening what) {
  items_.push_back({&device, ProcessId(), std::move(what)});
  Run();
}

void Dispatcher::Apply(const Happening& what) {
  for (auto& [uuid, device] : devices_) items_.push_back({&device, ProcessId(), what});
  Run();
}

void Dispatcher::Arrive(Client& client, Happening what) {
  items_.push_back({client.device, client.id, std::move(what)});
  Run();
}

void Dispatcher::Run() {
  if (std::exchange(running_, true)) return;
  while (!items_.empty()) {
    const Item item = std::move(items_.front());
    items_.pop_front();
    Count(item);
    const Actions actions = Decide(item.device->state, {Now(), item.what});
    Decided(item, actions);
  }
  running_ = false;
  SetAlarm();
}

void Dispatcher::Count(const Item& item) {
  const auto* const answer = std::get_if<Acknowledges>(&item.what);
  if (answer == nullptr) return;
  const Client* const client = Find(answer->process);
  const auto process = item.device->state.processes.find(answer->process);
  if (client == nullptr || process == item.device->state.processes.end()) return;
  const auto& recall = process->second.leases[answer->place].recall;
  if (!recall || recall->revision != answer->revision) return;
  CountAnswer(*answer, *recall, Now(), client->account->tallies[item.device],
              item.device->recall_times);
}

void Dispatcher::Decided(const Item& item, const Actions& actions) {
  Client* const arriving = item.arriving ? Find(item.arriving) : nullptr;
  if (arriving != nullptr) {
    arriving->joined = item.device->state.processes.contains(arriving->id);
    if (arriving->joined) {
      ++arriving->account->processes;
      if (std::holds_alternative<Adopts>(item.what)) ++counts_.reconnects;
      Welcome(*arriving);
    } else {
      // It may have much to evict before it says hello.
      arriving->since = Now();
    }
  }
  for (const Action& action : actions) Do(*item.device, action);
}

void Dispatcher::Do(Device& device, const Action& action) {
  if (action.kind == Action::Kind::kForget) return Forget(device, action);
  Client* const client = Find(action.process);
  // Refusals to operators were rehearsed, and the dead are told nothing.
  if (client == nullptr) return;
  switch (action.kind) {
    case Action::Kind::kGrant:
      return Grant(*client, action);
    case Action::Kind::kGiveTurn:
    case Action::Kind::kTakeTurn:
      return ShowTurn(*client, action);
    case Action::Kind::kFence:
    case Action::Kind::kUnfence:
      return Show(*client, lease::BrokerPage::kFenced, action.kind == Action::Kind::kFence);
    case Action::Kind::kRecall: {
      lease::Message message = MessageOf(action, device.state.now);
      const auto process = device.state.processes.find(action.process);
      if (process != device.state.processes.end()) {
        const Lease& lease = process->second.leases[action.place];
        message.rest = Minus(Minus(lease.grant, lease.target), action.bytes);
      }
      return Tell(*client, message);
    }
    case Action::Kind::kHoldWork:
    case Action::Kind::kLetWork:
      Show(*client, lease::BrokerPage::kHold, action.kind == Action::Kind::kHoldWork);
      return Tell(*client, MessageOf(action, device.state.now));
    case Action::Kind::kRoom:
    case Action::Kind::kRefuse:
      return Tell(*client, MessageOf(action, device.state.now));
    case Action::Kind::kOverrun:
      if (action.bytes > Bytes()) {
        Journal::Say(absl::StrCat("process ", client->peer.pid, " of ", client->account->name,
                                  " holds ", action.bytes.value, " bytes more than it may"));
      }
      return;
    case Action::Kind::kForget:
      return;
  }
}

void Dispatcher::Welcome(Client& client) {
  lease::Message message;
  message.type = lease::Type::kWelcome;
  message.bytes = message.more = kAllBytes;
  for (const Account* a = client.account; a != nullptr; a = a->parent) {
    message.bytes = std::min(message.bytes, a->policy.limit[Place::kDevice]);
    message.more = std::min(message.more, a->policy.limit[Place::kHost]);
  }
  message.time = kBeat;
  message.device = client.device->uuid;
  client.pages->Write(client.shown);
  const Sent sent = Send(client.socket.get(), lease::Encode(message),
                         {client.pages->process_fd(), client.pages->broker_fd()});
  client.pages->CloseDescriptors();
  if (sent != Sent::kSent) Drop(client, "");
}

void Dispatcher::Grant(Client& client, const Action& action) {
  (action.place == Place::kHost ? client.shown.host : client.shown.device) = action.bytes;
  client.shown.revision = action.revision.value;
  client.pages->Write(client.shown);
  Tell(client, MessageOf(action, Instant()));
}

void Dispatcher::ShowTurn(Client& client, const Action& action) {
  Show(client,
       action.direction == Direction::kEvict ? lease::BrokerPage::kMayEvict
                                             : lease::BrokerPage::kMayFetch,
       action.kind == Action::Kind::kGiveTurn);
  Tell(client, MessageOf(action, Instant()));
}

void Dispatcher::Show(Client& client, uint64_t flag, bool set) {
  client.shown.flags = set ? client.shown.flags | flag : client.shown.flags & ~flag;
  client.pages->Write(client.shown);
}

void Dispatcher::Tell(Client& client, const lease::Message& message) {
  if (!client.socket) return;
  if (message.type == lease::Type::kRefuse) ++counts_.refusals.at(message.code);
  const Sent sent = Send(client.socket.get(), lease::Encode(message));
  if (sent == Sent::kFull) Drop(client, "does not read what it is sent");
  if (sent == Sent::kGone) Drop(client, "");
}

void Dispatcher::Drop(Client& client, std::string_view why) {
  if (!client.socket) return;
  if (!why.empty()) {
    Journal::Say(absl::StrCat("process ", client.peer.pid, " of ", client.account->name, " ", why,
                              ", so its connection ends"));
  }
  loop_.Forget(std::exchange(client.socket_watch, 0));
  HangUp(std::move(client.socket));
  --client.account->connections;
  if (client.joined) {
    Apply(*client.device, Dies{client.id});
    return;
  }
  loop_.Forget(std::exchange(client.end_watch, 0));
  buried_.push_back(std::move(clients_.extract(client.id).mapped()));
}

void Dispatcher::Forget(Device& device, const Action& action) {
  device.measured.erase(action.process);
  Client* const client = Find(action.process);
  if (client == nullptr) return;
  client->joined = false;
  --client->account->processes;
  if (client->socket) {
    // It is forgotten by its own word alone: it may say hello again.
    Drop(*client, "");
  } else {
    loop_.Forget(std::exchange(client->end_watch, 0));
    buried_.push_back(std::move(clients_.extract(client->id).mapped()));
  }
}

void Dispatcher::Bury() { buried_.clear(); }

Client* Dispatcher::Find(ProcessId id) {
  const auto found = clients_.find(id);
  return found == clients_.end() ? nullptr : found->second.get();
}

void Dispatcher::SetAlarm() {
  std::optional<Instant> earliest;
  for (const auto& [uuid, device] : devices_) {
    const std::optional<Instant> due = Due(device.state);
    if (due) earliest = std::min(earliest.value_or(Instant::max()), *due);
  }
  due_.Set(earliest);
}

}  // namespace vramspan::broker
