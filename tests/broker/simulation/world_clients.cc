// What processes do: they obey, more or less.
#include <algorithm>

#include "tests/broker/simulation/world.h"
#include "tools/broker/core/amounts.h"

namespace vramspan::broker::simulation {

Client* World::AnyClient() {
  if (clients_.empty()) return nullptr;
  auto chosen = clients_.begin();
  std::advance(chosen, static_cast<long>(Below(clients_.size())));
  return &chosen->second;
}

void World::Recalled(Client& client, const Action& action) {
  // 47 GB/s, and what else there is.
  Duration time = std::chrono::nanoseconds(action.copied.value / 47 + 20'000 + Below(200'000));
  const Duration whole = action.deadline - now_;
  if (client.manner == Manner::kSlow) time = whole - std::chrono::microseconds(Below(2'000) + 1);
  if (client.manner == Manner::kSilent) {
    if (!OneIn(5)) {
      client.answers[action.place].reset();
      return;
    }
    time = whole * static_cast<int64_t>(1 + Below(20));
  }
  client.answers[action.place] =
      Answer{now_ + time, action.place, action.revision, action.bytes, action.copied};
}

void World::GiveAnswer(Client& client, const Answer& answer) {
  client.answers[answer.place].reset();
  using Result = Acknowledges::Result;
  Acknowledges says{client.id, answer.place, answer.revision, Result::kDone, answer.bytes};
  if (client.manner == Manner::kPiecemeal && OneIn(2)) {
    says.result = Result::kPartial;
    says.bytes = UpTo(answer.bytes);
  }
  if (client.manner == Manner::kDeferring && !OneIn(5)) says.result = Result::kDeferred;
  if (client.manner == Manner::kLying) {
    says.result = static_cast<Result>(Below(3));
    says.bytes = AnyBytes();
    if (OneIn(9)) says.revision = Revision(random_());
    if (OneIn(9)) says.place = Place::kHost;
  }
  // What the broker will take of it: a lie about a recall that is not there counts for nothing.
  const Process& process = state_.processes.at(client.id);
  const auto& recall = process.leases[says.place].recall;
  if (recall && recall->revision == says.revision) {
    Bytes given;
    if (says.result == Result::kDone) given = recall->bytes;
    if (says.result == Result::kPartial) given = std::min(says.bytes, recall->bytes);
    client.grants[says.place] -= given;
    if (says.place == Place::kDevice) recalled_ = Plus(recalled_, given);
    client.UseGrants();
  }
  const ProcessId id = client.id;
  Tell({now_, says});
  // It may have been forgotten meanwhile.
  const auto found = clients_.find(id);
  if (found != clients_.end()) Speak(found->second);
}

void World::Speak(Client& client) {
  client.speaks_at.reset();
  client.WorkUntil(now_);
  client.UseGrants();
  Tell({now_,
        Says{client.id, client.manner == Manner::kLying && !OneIn(3) ? Lie() : client.Says()}});
}

Said World::Lie() {
  Said said;
  for (const Place place : kPlaces) {
    said.used[place] = AnyBytes();
    said.wanted[place] = AnyBytes();
  }
  said.cached = AnyBytes();
  said.clean = AnyBytes();
  said.cold = AnyBytes();
  said.works = AnyBytes().value;
  said.stalled = Duration(static_cast<int64_t>(AnyBytes().value));
  said.runs = OneIn(2);
  said.holds = OneIn(2);
  said.waits = OneIn(2);
  return said;
}

}  // namespace vramspan::broker::simulation
