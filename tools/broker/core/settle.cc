#include "tools/broker/core/settle.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/death.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gather.h"
#include "tools/broker/core/gpu_turns.h"
#include "tools/broker/core/grants.h"
#include "tools/broker/core/guarantees.h"
#include "tools/broker/core/invariants.h"
#include "tools/broker/core/obedience.h"
#include "tools/broker/core/recalls.h"
#include "tools/broker/core/shares.h"
#include "tools/broker/core/turns.h"

namespace vramspan::broker {
namespace {

// Each round gives or recalls something; three are much.
constexpr int kMostRounds = 16;

// Whether those are still waited for who held memory before a restart. If not, the adopted are as
// others are.
bool Adopting(State& state, Actions& actions) {
  if (state.adopting_until) {
    if (state.adopting > 0 && *state.adopting_until > state.now) return true;
    state.adopting_until.reset();
    state.adopting = 0;
  }
  for (auto& [id, process] : state.processes) {
    if (process.state != LeaseState::kAdopted) continue;
    process.state = LeaseState::kSteady;
    Believe(state, process, actions);
  }
  return false;
}

// Whether somebody is yet to get something, though it be later: what was lent to others before
// would have to be recalled from them.
bool AnybodyShort(const State& state, Place place) {
  return std::any_of(state.processes.begin(), state.processes.end(), [&](const auto& entry) {
    return entry.second.leases[place].short_since.has_value();
  });
}

void SettlePlace(State& state, Place place, Actions& actions) {
  ShareOut(state, place, Wish::kDemand);
  GiveToShort(state, place, actions);
  SetHungry(state, place);
  RecallForOthers(state, place, actions);
  if (!AnybodyShort(state, place) && Coming(state, place) == Bytes() &&
      Lacking(state, place) == Bytes()) {
    Lend(state, place, actions);
  }
}

}  // namespace

void Settle(State& state, Actions& actions) {
  ForgetTheLongDead(state, actions);
  CheckObedience(state, actions);
  for (const Place place : kPlaces) EndGathering(state, place);
  EndKeeping(state);
  const bool adopting = Adopting(state, actions);
  // What is believed of the adopted is in use.
  RememberDemand(state);
  if (!adopting) PassGpuTurn(state, actions);
  AnswerRooms(state, !adopting, actions);
  if (!adopting) {
    // The device first: what it recalls says how much of the host is wanted. What the host gives
    // then may let the device recall more; so once more, as long as something comes of it.
    for (int rounds = 0; rounds < kMostRounds; ++rounds) {
      const size_t before = actions.size();
      for (const Place place : kPlaces) SettlePlace(state, place, actions);
      // Who is at its target is asked when all others were.
      if (actions.size() == before) RecallForGuarantees(state, actions);
      if (actions.size() == before) break;
    }
    TellNewcomers(state, actions);
    PassFetchTurn(state, actions);
    TimeGpuTurn(state);
  }
  TakeEvictTurn(state, actions);
  for (const Place place : kPlaces) LowerExcess(state, place);
  NoteShortage(state);
}

}  // namespace vramspan::broker
