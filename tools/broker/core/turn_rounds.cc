#include "tools/broker/core/turn_rounds.h"

#include <algorithm>
#include <limits>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"

namespace vramspan::broker {
namespace {

constexpr uint64_t kPerThousandSeconds = 1'000'000'000'000;

void BeginRound(const State& state, Process& process) {
  process.part.works_before = process.said.works;
  process.part.from = state.now;
}

void Hold(const State& state, Process& process, Actions& actions) {
  process.part.holds = true;
  // A broker that does nothing any more must not keep it for ever.
  const auto turns = static_cast<int64_t>(TakingPart(state) + 1);
  const Duration most =
      state.settings.turns.most_longer * LengthOfTurn(state) + state.settings.turns.scattered;
  actions.push_back({.kind = Action::Kind::kHoldWork,
                     .process = process.id,
                     .tenant = process.tenant,
                     .deadline = After(state.now, turns * most)});
}

void Let(Process& process, Actions& actions) {
  if (!process.part.holds) return;
  process.part.holds = false;
  actions.push_back(
      {.kind = Action::Kind::kLetWork, .process = process.id, .tenant = process.tenant});
}

// What it did in this round, in a hundred parts of what it did before there were turns.
uint64_t Gain(const State& state, const Process& process) {
  const TurnPart& part = process.part;
  const Duration time = state.now - part.from;
  const bool known = time > Duration(0) && process.said.works >= part.works_before;
  const uint64_t pace = known ? PaceOf(process.said.works - part.works_before, time) : 0;
  // What did nothing before can only gain.
  const Wide gain = Wide{pace} * 100 / std::max<uint64_t>(part.pace_before, 1);
  // One that gains without measure says nothing of the others.
  return static_cast<uint64_t>(std::min<Wide>(gain, 1000));
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

bool HadLess(const Process& a, const Process& b) {
  const auto used = [](const Process& process) {
    return static_cast<uint64_t>(process.part.used.count());
  };
  return Wide{used(a)} * b.fraction < Wide{used(b)} * a.fraction;
}

Duration LengthOfTurn(const State& state) {
  const Settings& settings = state.settings;
  // No change takes longer than the longest turn.
  const Duration change = std::min(state.gpu.change, settings.turns.most);
  return std::clamp(settings.turns.per_change * change, settings.turns.least, settings.turns.most);
}

void JoinRound(State& state, Process& process, Actions& actions) {
  // Who comes later has had as much as who had least.
  Duration used = Duration::max();
  for (const auto& [id, other] : state.processes) {
    if (other.part.takes) used = std::min(used, other.part.used);
  }
  process.part = {.takes = true,
                  .used = used == Duration::max() ? Duration(0) : used,
                  .pace_before = process.activity.pace};
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
  if (holder != nullptr) holder->part.used += state.now - state.gpu.counted;
  state.gpu.counted = state.now;
}

void GiveGpuTurn(State& state, Process& process, Actions& actions) {
  GpuTurns& gpu = state.gpu;
  Process* const before = Find(state, gpu.holder);
  CountTurn(state);
  if (before != nullptr && before->part.takes) Hold(state, *before, actions);
  gpu.holder = process.id;
  gpu.since = state.now;
  gpu.until = After(state.now, state.settings.turns.scattered);
  gpu.counted = state.now;
  gpu.longer = 0;
  gpu.whole = false;
  Let(process, actions);
}

bool IsWorthIt(State& state) {
  uint64_t sum = 0, count = 0;
  for (auto& [id, process] : state.processes) {
    if (!process.part.takes) continue;
    sum += Gain(state, process);
    ++count;
    BeginRound(state, process);
  }
  state.gpu.passed = 0;
  return count > 0 && sum >= count * state.settings.turns.gain;
}

void EndRounds(State& state, Actions& actions) {
  for (auto& [id, process] : state.processes) {
    if (process.part.takes) LeaveRound(state, process, actions);
    // What it waited before tells nothing of now.
    process.activity.seen.reset();
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
