#include "tools/broker/core/grants.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/shares.h"

namespace vramspan::broker {
namespace {

struct Winner {
  Process* process = nullptr;
  Bytes grant;       // With what it has won so far.
  Bytes guaranteed;  // Up to this it comes before the others,
  Bytes target;      // and up to this with them.
};

// Whether a's grant is less than b's for its weight.
bool Less(const Winner& a, const Winner& b) {
  return Wide{a.grant.value} * b.process->fraction < Wide{b.grant.value} * a.process->fraction;
}

// Gives slices of `left` to the winners one behind the other, until all have what `most` says.
void GiveSlices(std::vector<Winner>& winners, Bytes Winner::*most, Bytes slice, Bytes& left) {
  while (left > Bytes()) {
    Winner* next = nullptr;
    for (Winner& winner : winners) {
      if (winner.grant >= winner.*most) continue;
      if (next == nullptr || Less(winner, *next)) next = &winner;
    }
    if (next == nullptr) return;
    const Bytes won = std::min({left, next->*most - next->grant, slice});
    next->grant += won;
    left -= won;
  }
}

}  // namespace

void TellGrant(Process& process, Place place, Actions& actions) {
  process.leases[place].told = true;
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

void Believe(const State& state, Process& process, Actions& actions) {
  for (const Place place : kPlaces) {
    const Bytes claimed = std::exchange(process.claimed[place], Bytes());
    if (claimed == Bytes()) continue;
    const Bytes believed = std::min({claimed, Free(state, place), PlainShare(state, process, place),
                                     BelowLimits(state, process, place)});
    process.said.used[place] = believed;
    Raise(process, place, believed, actions);
  }
}

void AnswerRooms(State& state, bool may_give, Actions& actions) {
  for (auto& [id, process] : state.processes) {
    if (!process.room_wish) continue;
    const RoomWish wish = *process.room_wish;
    const Pool& pool = state.pools[Place::kDevice];
    Action answer{.process = id, .tenant = process.tenant, .bytes = wish.bytes};
    const Bytes used = Plus(Held(state, Place::kDevice), pool.foreign);
    if (may_give && Plus(used, RoomLacking(process)) <= pool.capacity) {
      process.room_kept = Minus(process.room_kept, wish.bytes);
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

void TellNewcomers(State& state, Actions& actions) {
  for (auto& [id, process] : state.processes) {
    if (!Responds(process)) continue;
    for (const Place place : kPlaces) {
      if (!process.leases[place].told) TellGrant(process, place, actions);
    }
  }
}

void GiveToShort(State& state, Place place, Actions& actions) {
  Bytes left = ToGive(state, place);
  if (left == Bytes()) return;
  std::vector<Winner> winners;
  int deepest = 0;
  for (auto& [id, process] : state.processes) {
    const Lease& lease = process.leases[place];
    // Its target may be what another inside of the same limit has to give back yet.
    const Bytes most = Plus(lease.grant, BelowLimits(state, process, place));
    const Bytes target = std::min(lease.target, most);
    if (Minus(target, lease.grant) < state.settings.chunk || !Responds(process) || lease.recall)
      continue;
    const Bytes guaranteed = BelowGuarantee(state, process, place);
    if (lease.rest_until > state.now && guaranteed == Bytes()) continue;
    winners.push_back({.process = &process, .grant = lease.grant, .target = target});
    if (guaranteed > Bytes()) deepest = std::max(deepest, Depth(state, process.tenant));
  }
  // The innermost first: what is guaranteed around is met by that as well.
  for (int depth = deepest; depth > 0; --depth) {
    for (Winner& winner : winners) {
      const Bytes guaranteed = BelowGuarantee(state, *winner.process, place, depth);
      winner.guaranteed =
          std::min(winner.target, Plus(winner.process->leases[place].grant, guaranteed));
    }
    GiveSlices(winners, &Winner::guaranteed, state.settings.slice, left);
  }
  GiveSlices(winners, &Winner::target, state.settings.slice, left);
  for (const Winner& winner : winners) {
    // Two may have won what one limit leaves.
    const Bytes won = std::min(winner.grant - winner.process->leases[place].grant,
                               BelowLimits(state, *winner.process, place));
    if (won > Bytes()) Raise(*winner.process, place, won, actions);
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
