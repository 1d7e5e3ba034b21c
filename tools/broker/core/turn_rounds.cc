#include "tools/broker/core/turn_rounds.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"

namespace vramspan::broker {
namespace {

constexpr uint64_t kPerThousandSeconds = 1'000'000'000'000;

void BeginRound(const State& state, Process& process) {
  process.part.works_before = process.said.works;
  process.part.from = state.now;
  process.part.had = false;
}

void Hold(const State& state, Process& process, Actions& actions) {
  if (!process.part.holds) process.part.held = state.now;
  process.part.holds = true;
  // A broker that does nothing any more must not keep it for ever. While there is one this is said
  // again with each turn, and no turn is longer.
  const TurnSettings& settings = state.settings.turns;
  actions.push_back({.kind = Action::Kind::kHoldWork,
                     .process = process.id,
                     .tenant = process.tenant,
                     .deadline = After(state.now, 2 * settings.most + settings.scattered)});
}

void Let(Process& process, Actions& actions) {
  if (!process.part.holds) return;
  process.part.holds = false;
  actions.push_back(
      {.kind = Action::Kind::kLetWork, .process = process.id, .tenant = process.tenant});
}

// What it did in this round, in a hundred parts of what it did before there were turns. Nobody can
// gain more than all the time there is.
Wide Gain(const State& state, const Process& process, uint64_t most) {
  const TurnPart& part = process.part;
  const Duration time = state.now - part.from;
  const bool known = time > Duration(0) && process.said.works >= part.works_before;
  const uint64_t pace = known ? PaceOf(process.said.works - part.works_before, time) : 0;
  return std::min(Wide{pace} * 100 / part.pace_before, Wide{most} * 100);
}

}  // namespace

uint64_t PaceOf(uint64_t works, Duration time) {
  const Wide pace = Wide{works} * kPerThousandSeconds / static_cast<uint64_t>(time.count());
  return static_cast<uint64_t>(std::min<Wide>(pace, std::numeric_limits<uint64_t>::max()));
}

size_t TakingPart(const State& state) {
  return static_cast<size_t>(
      std::count_if(state.processes.begin(), state.processes.end(),
                    [](const auto& entry) { return entry.second.part.takes; }));
}

bool HadLess(const Process& a, const Process& b) { return a.part.served < b.part.served; }

Duration LengthOfTurn(const State& state) {
  const Settings& settings = state.settings;
  // No change takes longer than the longest turn.
  const Duration change = std::min(state.gpu.change, settings.turns.most);
  return std::clamp(settings.turns.per_change * change, settings.turns.least, settings.turns.most);
}

void JoinRound(State& state, Process& process, Actions& actions) {
  // Who comes later has had as much as who had least.
  std::optional<Wide> served;
  for (const auto& [id, other] : state.processes) {
    if (other.part.takes) served = std::min(served.value_or(other.part.served), other.part.served);
  }
  const Activity& seen = process.activity;
  process.part = {.takes = true, .served = served.value_or(0)};
  const Duration time = seen.contends ? state.now - *seen.contends : Duration(0);
  if (time > Duration(0) && process.said.works > seen.contends_works) {
    process.part.pace_before = PaceOf(process.said.works - seen.contends_works, time);
  }
  BeginRound(state, process);
  Hold(state, process, actions);
}

void LeaveRound(State& state, Process& process, Actions& actions) {
  if (state.gpu.holder == process.id) state.gpu.holder = {};
  Let(process, actions);
  process.part = {};
}

void CountTurn(State& state) {
  Process* const holder = Find(state, state.gpu.holder);
  const auto time = static_cast<uint64_t>((state.now - state.gpu.counted).count());
  state.gpu.counted = state.now;
  if (holder == nullptr) return;
  const auto parts = [](const Process& process, uint64_t nanoseconds) {
    return Wide{nanoseconds} * kWhole / std::max<uint64_t>(process.fraction, 1);
  };
  holder->part.served += parts(*holder, time);
  // Who wanted nothing for long is not owed all of that now.
  const auto turns = static_cast<uint64_t>(state.settings.turns.most_longer);
  const auto length = static_cast<uint64_t>(LengthOfTurn(state).count());
  for (auto& [id, process] : state.processes) {
    const Wide most = parts(process, turns * length);
    const Wide least = holder->part.served > most ? holder->part.served - most : 0;
    process.part.served = std::max(process.part.served, least);
  }
}

void HoldOn(State& state, Actions& actions) {
  for (auto& [id, process] : state.processes) {
    if (process.part.holds) Hold(state, process, actions);
  }
}

void GiveGpuTurn(State& state, Process& process, Actions& actions) {
  GpuTurns& gpu = state.gpu;
  Process* const before = Find(state, gpu.holder);
  CountTurn(state);
  if (before != nullptr && before->part.takes) {
    before->part.had = before->part.holds = true;
    before->part.held = state.now;
  }
  gpu.holder = process.id;
  gpu.since = state.now;
  gpu.until = After(state.now, state.settings.turns.scattered);
  gpu.longer = 0;
  gpu.whole = false;
  Let(process, actions);
  HoldOn(state, actions);
}

bool RoundIsOver(const State& state) {
  const size_t takers = TakingPart(state);
  const bool all = std::all_of(
      state.processes.begin(), state.processes.end(),
      [](const auto& entry) { return !entry.second.part.takes || entry.second.part.had; });
  // Who wants no turn is not waited for.
  return state.gpu.passed >= takers && (all || state.gpu.passed >= 4 * takers);
}

bool IsWorthIt(State& state) {
  Wide sum = 0;
  uint64_t count = 0;
  const size_t takers = TakingPart(state);
  for (auto& [id, process] : state.processes) {
    if (!process.part.takes) continue;
    // Of what did nothing before nobody knows what it gains.
    if (process.part.pace_before > 0) {
      sum += Gain(state, process, takers);
      ++count;
    }
    BeginRound(state, process);
  }
  state.gpu.passed = 0;
  const bool worth = count > 0 && sum >= Wide{count} * state.settings.turns.gain;
  if (worth) state.gpu.back_off = Duration(0);
  return worth;
}

void EndRounds(State& state, Actions& actions) {
  for (auto& [id, process] : state.processes) {
    if (process.part.takes) LeaveRound(state, process, actions);
    // What it waited before tells nothing of now.
    process.activity.seen.reset();
    process.activity.contends.reset();
  }
  state.gpu.on = false;
  state.gpu.holder = {};
  state.gpu.contended.reset();
}

void GiveUpTurns(State& state, Actions& actions) {
  EndRounds(state, actions);
  const Settings& settings = state.settings;
  state.gpu.back_off = std::clamp(2 * state.gpu.back_off, settings.turns.least_back_off,
                                  settings.turns.most_back_off);
  state.gpu.not_before = After(state.now, state.gpu.back_off);
}

}  // namespace vramspan::broker
