#include "tools/broker/core/grants.h"

#include <algorithm>
#include <vector>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/shares.h"

namespace vramspan::broker {
namespace {

struct Winner {
  Process* process = nullptr;
  Bytes grant;  // With what it has won so far.
  Bytes most;
};

// Whether a's grant is less than b's for its weight.
bool Less(const Winner& a, const Winner& b) {
  return Wide{a.grant.value} * b.process->fraction < Wide{b.grant.value} * a.process->fraction;
}

}  // namespace

void TellGrant(Process& process, Place place, Actions& actions) {
  ++process.revision.value;
  actions.push_back({.kind = Action::Kind::kGrant,
                     .process = process.id,
                     .tenant = process.tenant,
                     .place = place,
                     .revision = process.revision,
                     .bytes = process.leases[place].grant});
}

void Raise(Process& process, Place place, Bytes bytes, Actions& actions) {
  process.leases[place].grant += bytes;
  // Until it is seen again: what it held beside its grant, it still does.
  if (place == Place::kDevice && process.measured > Bytes()) {
    process.measured = Plus(process.measured, bytes);
  }
  if (process.state == LeaseState::kAdmitted) process.state = LeaseState::kSteady;
  TellGrant(process, place, actions);
}

void AnswerRooms(State& state, bool may_give, Actions& actions) {
  for (auto& [id, process] : state.processes) {
    if (!process.room_wish) continue;
    const RoomWish wish = *process.room_wish;
    const Pool& pool = state.pools[Place::kDevice];
    Action answer{.process = id, .tenant = process.tenant, .bytes = wish.bytes};
    const Bytes used = Plus(Held(state, Place::kDevice), pool.foreign);
    if (may_give && Plus(used, wish.bytes) <= pool.capacity) {
      process.room = Plus(process.room, wish.bytes);
      NoteExcess(state, Place::kDevice);
      answer.kind = Action::Kind::kRoom;
    } else if (wish.until <= state.now) {
      answer.kind = Action::Kind::kRefuse;
      answer.refusal = Refusal::kNoRoom;
    } else {
      continue;
    }
    process.room_wish.reset();
    actions.push_back(answer);
  }
}

void GiveToShort(State& state, Place place, Actions& actions) {
  Bytes left = ToGive(state, place);
  std::vector<Winner> winners;
  for (auto& [id, process] : state.processes) {
    const Lease& lease = process.leases[place];
    const Bytes lacking = Minus(lease.target, lease.grant);
    if (lacking < state.settings.chunk || !Responds(process) || lease.recall) continue;
    if (lease.rest_until > state.now && !BelowGuarantee(state, process, place)) continue;
    winners.push_back({&process, lease.grant, lease.target});
  }
  while (left > Bytes() && !winners.empty()) {
    const auto winner = std::min_element(winners.begin(), winners.end(), Less);
    const Bytes won = std::min({left, winner->most - winner->grant, state.settings.slice});
    winner->grant += won;
    left -= won;
    if (winner->grant < winner->most && left > Bytes()) continue;
    Process& process = *winner->process;
    Raise(process, place, winner->grant - process.leases[place].grant, actions);
    winners.erase(winner);
  }
  for (const Winner& winner : winners) {
    Process& process = *winner.process;
    const Bytes won = winner.grant - process.leases[place].grant;
    if (won > Bytes()) Raise(process, place, won, actions);
  }
}

void Lend(State& state, Place place, Actions& actions) {
  Bytes left = ToLend(state, place);
  if (left < state.settings.chunk) return;
  ShareOut(state, place, Wish::kAll);
  for (auto& [id, process] : state.processes) {
    const Lease& lease = process.leases[place];
    const Bytes more = std::min(left, Minus(lease.lent, lease.grant));
    if (more < state.settings.chunk || !MayBeLent(state, process, place)) continue;
    Raise(process, place, more, actions);
    left -= more;
  }
}

}  // namespace vramspan::broker
