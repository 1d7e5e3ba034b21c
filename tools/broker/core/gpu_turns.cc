#include "tools/broker/core/gpu_turns.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/turn_rounds.h"

namespace vramspan::broker {
namespace {

// Whether the process can take part at all.
bool MayTakePart(const State& state, const Process& process) {
  return !process.drains && process.said.holds &&
         state.tenants.at(process.tenant).policy.klass != Class::kLatency;
}

// Whether it has cause for turns, too: its work waits, and memory would help.
bool Contends(const State& state, const Process& process) {
  const Activity& seen = process.activity;
  const Bytes needs = Remembered(process);
  const Bytes lacks = Minus(needs, process.leases[Place::kDevice].grant);
  return Responds(process) && MayTakePart(state, process) &&
         seen.stalls >= state.settings.turns.stalls && seen.seen &&
         After(*seen.seen, state.settings.turns.fresh) > state.now &&
         lacks >= Bytes(needs.value / state.settings.turns.least_lack) && lacks > Bytes();
}

// Since when each does without a pause.
void NoteContenders(State& state) {
  for (auto& [id, process] : state.processes) {
    Activity& seen = process.activity;
    if (!Contends(state, process)) {
      seen.contends.reset();
    } else if (!seen.contends) {
      seen.contends = state.now;
      seen.contends_works = process.said.works;
    }
  }
}

size_t Contenders(const State& state) {
  return static_cast<size_t>(
      std::count_if(state.processes.begin(), state.processes.end(),
                    [&](const auto& entry) { return Contends(state, entry.second); }));
}

bool Wanted(const State& state) {
  return std::any_of(state.processes.begin(), state.processes.end(), [](const auto& entry) {
    return entry.second.part.holds && entry.second.said.waits;
  });
}

bool DoesNothing(const State& state, const Process& holder) {
  const Instant worked = std::max(holder.activity.worked, state.gpu.since);
  return !holder.said.runs && After(worked, state.settings.turns.idle) <= state.now;
}

// All that take part, and what the others hold, would fit.
bool Fits(const State& state) {
  Bytes sum;
  for (const auto& [id, process] : state.processes) {
    sum = Plus(sum, process.part.takes ? Plus(Remembered(process), Burden(process, Place::kDevice))
                                       : Held(process, Place::kDevice));
  }
  return sum <= Room(state, Place::kDevice);
}

// Who no longer answers holds nobody up. One that is late with an answer may only have much to end
// before its memory can go. Whether one was left out that may be back at any time: what an operator
// did to it, or its end, is no such case.
bool LeaveOutTheSilent(State& state, Actions& actions) {
  bool may_be_back = false;
  for (auto& [id, process] : state.processes) {
    const bool late = process.state == LeaseState::kOverdue && !process.stuck;
    const bool silent = !late && !Responds(process);
    if (!process.part.takes || !(silent || !MayTakePart(state, process))) continue;
    may_be_back |= process.state != LeaseState::kDying && (silent || !process.said.holds);
    LeaveRound(state, process, actions);
  }
  return may_be_back;
}

// `wanted`: somebody waits. Else any that takes part will do.
Process& Next(State& state, bool wanted) {
  Process* next = nullptr;
  for (auto& [id, process] : state.processes) {
    if (!process.part.holds || (wanted && !process.said.waits)) continue;
    if (next == nullptr || HadLess(process, *next)) next = &process;
  }
  return *next;
}

void TakeInContenders(State& state, Actions& actions) {
  for (auto& [id, process] : state.processes) {
    if (!process.part.takes && Contends(state, process)) JoinRound(state, process, actions);
  }
}

void Begin(State& state, Actions& actions) {
  GpuTurns& gpu = state.gpu;
  gpu = {.on = true, .change = gpu.change, .not_before = gpu.not_before, .back_off = gpu.back_off};
  TakeInContenders(state, actions);
  for (auto& [id, process] : state.processes) {
    if (!process.part.takes) continue;
    GiveGpuTurn(state, process, actions);
    return;
  }
}

}  // namespace

void NoteActivity(const State& state, Process& process) {
  Activity& seen = process.activity;
  const Said& said = process.said;
  const auto begin = [&] {
    seen.from = state.now;
    seen.works = said.works;
    seen.stalled = said.stalled;
  };
  if (said.works > seen.works) seen.worked = state.now;
  const Duration time = state.now - seen.from;
  const bool back = said.works < seen.works || said.stalled < seen.stalled;
  // What it says after a silence tells of no window.
  if (back || time >= 2 * state.settings.turns.window) {
    begin();
    return;
  }
  if (time < state.settings.turns.window) return;
  const auto waited = static_cast<uint64_t>((said.stalled - seen.stalled).count());
  const auto all = static_cast<uint64_t>(time.count());
  seen.stalls = std::min<uint64_t>(1000, static_cast<uint64_t>(Wide{waited} * 1000 / all));
  seen.seen = state.now;
  begin();
}

void PassGpuTurn(State& state, Actions& actions) {
  GpuTurns& gpu = state.gpu;
  NoteContenders(state);
  if (!gpu.on) {
    if (!state.settings.turns.on || Contenders(state) < 2) {
      gpu.contended.reset();
      return;
    }
    if (!gpu.contended) gpu.contended = state.now;
    if (After(*gpu.contended, state.settings.turns.after) > state.now) return;
    if (gpu.not_before <= state.now) Begin(state, actions);
    return;
  }
  const bool left_out = LeaveOutTheSilent(state, actions);
  if (TakingPart(state) < 2) {
    // Else who is silent by turns would have everybody's memory move for each of its words.
    left_out ? GiveUpTurns(state, actions) : EndRounds(state, actions);
    return;
  }
  Process* const holder = Find(state, gpu.holder);
  const bool there = holder != nullptr && holder->part.takes;
  const bool wanted = Wanted(state);
  const bool works = there && !(wanted && DoesNothing(state, *holder));
  if (works && gpu.until > state.now) return;
  if (Fits(state)) return EndRounds(state, actions);
  if (!wanted && there) {
    gpu.until = After(state.now, LengthOfTurn(state));
    ++gpu.unwanted > 1 ? EndRounds(state, actions) : HoldOn(state, actions);
    return;
  }
  gpu.unwanted = 0;
  TakeInContenders(state, actions);
  Process& next = Next(state, wanted);
  CountTurn(state);
  if (works && HadLess(*holder, next) && ++gpu.longer < state.settings.turns.most_longer) {
    gpu.until = After(state.now, LengthOfTurn(state));
    HoldOn(state, actions);
    return;
  }
  GiveGpuTurn(state, next, actions);
  ++gpu.passed;
  if (RoundIsOver(state) && !IsWorthIt(state)) GiveUpTurns(state, actions);
}

void TimeGpuTurn(State& state) {
  GpuTurns& gpu = state.gpu;
  const Process* const holder = Find(state, gpu.holder);
  if (!gpu.on || gpu.whole || holder == nullptr) return;
  const Lease& lease = holder->leases[Place::kDevice];
  if (Minus(lease.target, lease.grant) >= state.settings.chunk) return;
  gpu.whole = true;
  gpu.change = state.now - gpu.since;
  gpu.until = After(state.now, LengthOfTurn(state));
}

std::optional<Instant> GpuTurnDue(const State& state) {
  const GpuTurns& gpu = state.gpu;
  if (!gpu.on) {
    if (!gpu.contended) return std::nullopt;
    return std::max(After(*gpu.contended, state.settings.turns.after), gpu.not_before);
  }
  Instant due = gpu.until;
  const auto holder = state.processes.find(gpu.holder);
  if (holder != state.processes.end() && !holder->second.said.runs && Wanted(state)) {
    const Instant worked = std::max(holder->second.activity.worked, gpu.since);
    due = std::min(due, After(worked, state.settings.turns.idle));
  }
  return due;
}

}  // namespace vramspan::broker
