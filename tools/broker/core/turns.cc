#include "tools/broker/core/turns.h"

#include <algorithm>

#include "tools/broker/core/facts.h"

namespace vramspan::broker {
namespace {

void Tell(Action::Kind kind, ProcessId process, Direction direction, Actions& actions) {
  actions.push_back({.kind = kind, .process = process, .direction = direction});
}

}  // namespace

bool Fetches(const Process& process) {
  return Responds(process) && process.said.wanted[Place::kDevice] > Bytes() &&
         Used(process, Place::kDevice) < process.leases[Place::kDevice].grant;
}

bool AnotherFetches(const State& state, ProcessId than) {
  return std::any_of(state.processes.begin(), state.processes.end(), [&](const auto& entry) {
    return entry.first != than && Fetches(entry.second);
  });
}

bool Copies(const Process& process) {
  const auto& recall = process.leases[Place::kDevice].recall;
  return Responds(process) && recall && recall->copied > Bytes();
}

ProcessId Evicts(const State& state) {
  const auto found = state.processes.find(state.evict.holder);
  if (found == state.processes.end() || !Copies(found->second)) return {};
  return state.evict.until > state.now ? found->first : ProcessId();
}

void GiveEvictTurn(State& state, ProcessId process, Actions& actions) {
  state.evict.until = After(state.now, state.settings.evict_turn);
  if (state.evict.holder == process) return;
  if (Find(state, state.evict.holder) != nullptr) {
    Tell(Action::Kind::kTakeTurn, state.evict.holder, Direction::kEvict, actions);
  }
  state.evict.holder = process;
  Tell(Action::Kind::kGiveTurn, process, Direction::kEvict, actions);
}

void TakeEvictTurn(State& state, Actions& actions) {
  const Process* const holder = Find(state, state.evict.holder);
  if (holder != nullptr && Copies(*holder)) return;
  if (holder != nullptr) {
    Tell(Action::Kind::kTakeTurn, holder->id, Direction::kEvict, actions);
  }
  state.evict = {};
}

void PassFetchTurn(State& state, Actions& actions) {
  const ProcessId holder = state.fetch.holder;
  Process* const process = Find(state, holder);
  if (process != nullptr && Fetches(*process) &&
      (state.fetch.until > state.now || !AnotherFetches(state, holder))) {
    return;
  }
  if (process != nullptr) {
    process->last_turn = state.now;
    Tell(Action::Kind::kTakeTurn, holder, Direction::kFetch, actions);
  }
  state.fetch = {};
  Process* next = nullptr;
  for (auto& [id, other] : state.processes) {
    if (Fetches(other) && (next == nullptr || other.last_turn < next->last_turn)) next = &other;
  }
  if (next == nullptr) return;
  state.fetch = {next->id, After(state.now, state.settings.fetch_turn)};
  Tell(Action::Kind::kGiveTurn, next->id, Direction::kFetch, actions);
}

}  // namespace vramspan::broker
