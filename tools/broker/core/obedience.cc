#include "tools/broker/core/obedience.h"

#include <algorithm>

#include "tools/broker/core/amounts.h"

namespace vramspan::broker {
namespace {

void Fence(const State& state, Process& process, Actions& actions) {
  process.state = LeaseState::kFenced;
  process.until = After(state.now, state.settings.parole);
  actions.push_back({.kind = Action::Kind::kFence, .process = process.id});
}

bool Unwilling(const State& state, const Process& process) {
  return std::any_of(
      process.leases.values.begin(), process.leases.values.end(),
      [&](const Lease& lease) { return lease.refusals >= state.settings.most_refusals; });
}

// The earliest deadline of what is recalled.
std::optional<Instant> Deadline(const Process& process) {
  std::optional<Instant> deadline;
  for (const Lease& lease : process.leases.values) {
    if (!lease.recall) continue;
    deadline = std::min(deadline.value_or(Instant::max()), lease.recall->deadline);
  }
  return deadline;
}

Instant LatestRetry(const Process& process) {
  return std::max(process.leases[Place::kDevice].retry_at, process.leases[Place::kHost].retry_at);
}

}  // namespace

bool AnyRecall(const Process& process) { return Deadline(process).has_value(); }

void Obeyed(const State& state, Process& process, Place place, Actions& actions) {
  process.leases[place].refusals = 0;
  // With more to answer it is as late as it was.
  if (AnyRecall(process)) return;
  if (process.state == LeaseState::kFenced && Unwilling(state, process)) return;
  if (process.state == LeaseState::kFenced) {
    actions.push_back({.kind = Action::Kind::kUnfence, .process = process.id});
  }
  if (process.state == LeaseState::kFenced || process.state == LeaseState::kOverdue) {
    process.state = LeaseState::kSteady;
  }
}

void Refused(const State& state, Process& process, Place place, Actions& actions) {
  ++process.leases[place].refusals;
  if (process.state == LeaseState::kFenced) return;
  if (Unwilling(state, process)) {
    Fence(state, process, actions);
  } else if (process.state == LeaseState::kOverdue && !AnyRecall(process)) {
    process.state = LeaseState::kPartial;
  }
}

void CheckObedience(State& state, Actions& actions) {
  for (auto& [id, process] : state.processes) {
    // A stopped process is no silent one.
    if (process.stuck) continue;
    const std::optional<Instant> deadline = Deadline(process);
    if (process.state == LeaseState::kRecalling && deadline && *deadline <= state.now) {
      process.state = LeaseState::kOverdue;
    }
    if (process.state == LeaseState::kOverdue && deadline &&
        After(*deadline, state.settings.fence_after) <= state.now) {
      Fence(state, process, actions);
    }
    if (process.state == LeaseState::kPartial && !deadline && LatestRetry(process) <= state.now) {
      process.state = LeaseState::kSteady;
    }
    // One that was unwilling is given one more chance. One that is silent has to answer.
    if (process.state == LeaseState::kFenced && !deadline && process.until <= state.now) {
      for (Lease& lease : process.leases.values) {
        if (lease.refusals > 0) lease.refusals = state.settings.most_refusals - 1;
      }
      process.state = LeaseState::kPartial;
      actions.push_back({.kind = Action::Kind::kUnfence, .process = process.id});
    }
  }
}

void Suspend(Process& process) {
  process.stuck = true;
  if (process.state == LeaseState::kRecalling) process.state = LeaseState::kOverdue;
}

void Resume(const State& state, Process& process) {
  process.stuck = false;
  for (Lease& lease : process.leases.values) {
    if (lease.recall) lease.recall->deadline = After(state.now, state.settings.deadline);
  }
}

}  // namespace vramspan::broker
