// A device of so many bytes, and processes that a test moves by hand, or that obey by themselves.
//
// After every event the invariants hold.
#ifndef VRAMSPAN_TESTS_BROKER_MACHINE_H_
#define VRAMSPAN_TESTS_BROKER_MACHINE_H_

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "tests/broker/simulation/client.h"
#include "tools/broker/core/amounts.h"
#include "tools/broker/core/decide.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/invariants.h"

namespace vramspan::broker {

class Machine {
 public:
  // All of the device may be granted: there is no reserve unless a test asks for one.
  explicit Machine(Bytes device, Bytes host = GiB(1000)) : state_(WithoutReserve()) {
    Tell(CapacityIs{Place::kDevice, device});
    Tell(CapacityIs{Place::kHost, host});
    Pass(std::chrono::seconds(1));
  }
  Machine(Bytes device, const Settings& settings) : state_(settings) {
    Tell(CapacityIs{Place::kDevice, device});
    Tell(CapacityIs{Place::kHost, GiB(1000)});
    Pass(std::chrono::seconds(1));
  }

  template <typename What>
  Actions Tell(const What& what) {
    const Actions actions = Decide(state_, {now_, what});
    EXPECT_EQ(BrokenInvariant(state_), "");
    for (const Action& action : actions) Carry(action);
    return actions;
  }

  // A tenant with one process of the same number.
  ProcessId Add(uint64_t id, const Policy& policy = {}, TenantId parent = kRoot) {
    Tell(TenantAppears{TenantId(id), parent, policy});
    return AddProcess(id, TenantId(id));
  }
  ProcessId AddProcess(uint64_t id, TenantId tenant) {
    clients_[ProcessId(id)].id = ProcessId(id);
    Tell(Joins{ProcessId(id), tenant, {}});
    return ProcessId(id);
  }
  // It works on so much from now on.
  Actions Works(ProcessId id, Bytes need, Bytes cold = {}) {
    clients_[id].need = need;
    clients_[id].cold = cold;
    return Speak(id);
  }
  Actions Speak(ProcessId id) {
    clients_[id].WorkUntil(now_);
    clients_[id].UseGrants();
    return Tell(Says{id, clients_[id].Says()});
  }
  // Time passes, and everybody does at once what it is told; a copy takes its time.
  void Run(Duration time) {
    const Instant end = now_ + time;
    while (Next(end)) {
    }
    now_ = end;
  }
  // Time passes, and nobody answers.
  void Pass(Duration time) {
    const Instant end = now_ + time;
    for (auto due = Due(state_); due && *due <= end; due = Due(state_)) {
      now_ = *due;
      Tell(TimePasses{});
    }
    now_ = end;
  }
  Actions Answer(ProcessId id, Acknowledges::Result result = Acknowledges::Result::kDone,
                 Bytes bytes = {}, Place place = Place::kDevice) {
    const auto& recall = At(id).leases[place].recall;
    EXPECT_TRUE(recall.has_value());
    if (!recall) return {};
    clients_[id].answers[place].reset();
    return Tell(Acknowledges{id, place, recall->revision, result, bytes});
  }

  simulation::Client& client(ProcessId id) { return clients_[id]; }
  const Process& At(ProcessId id) const { return state_.processes.at(id); }
  const Lease& Device(ProcessId id) const { return At(id).leases[Place::kDevice]; }
  const Lease& Host(ProcessId id) const { return At(id).leases[Place::kHost]; }
  Bytes Grant(ProcessId id) const { return Device(id).grant; }
  bool Recalled(ProcessId id) const { return Device(id).recall.has_value(); }
  State& state() { return state_; }
  Instant now() const { return now_; }
  Bytes recalled() const { return recalled_; }               // From all, and given.
  const std::vector<Action>& held() const { return held_; }  // Who was to hold its work.

 private:
  static Settings WithoutReserve() {
    Settings settings;
    settings.least_reserve = Bytes();
    settings.reserve_percent = 0;
    return settings;
  }

  void Carry(const Action& action) {
    const auto found = clients_.find(action.process);
    if (found == clients_.end()) return;
    simulation::Client& client = found->second;
    if (action.kind == Action::Kind::kGrant) {
      const Bytes before = client.grants[action.place];
      const Duration copy(Minus(action.bytes, before).value / 47);
      if (action.bytes > before) client.speaks_at = now_ + copy;
      client.grants[action.place] = action.bytes;
    }
    if (action.kind == Action::Kind::kRecall) {
      const Instant at = now_ + std::chrono::nanoseconds(action.copied.value / 47 + 50'000);
      client.answers[action.place] =
          simulation::Answer{at, action.place, action.revision, action.bytes, action.copied};
    }
    if (action.kind == Action::Kind::kHoldWork || action.kind == Action::Kind::kLetWork) {
      client.WorkUntil(now_);
      client.holds = action.kind == Action::Kind::kHoldWork;
      if (client.holds) held_.push_back(action);
    }
    if (action.kind == Action::Kind::kForget) clients_.erase(found);
  }

  bool Next(Instant end) {
    Instant at = end;
    ProcessId next;
    std::optional<Place> answers;
    for (const auto& [id, client] : clients_) {
      if (client.stuck) continue;
      if (client.speaks_at && *client.speaks_at <= at) {
        at = *client.speaks_at;
        next = id;
        answers.reset();
      }
      for (const Place place : kPlaces) {
        if (!client.answers[place] || client.answers[place]->at > at) continue;
        at = client.answers[place]->at;
        next = id;
        answers = place;
      }
    }
    const std::optional<Instant> due = Due(state_);
    if (due && *due <= at) {
      now_ = std::max(now_, *due);
      Tell(TimePasses{});
      return true;
    }
    if (!next) return false;
    now_ = std::max(now_, at);
    if (answers) {
      const simulation::Answer answer = *clients_[next].answers[*answers];
      clients_[next].answers[*answers].reset();
      if (*answers == Place::kDevice) recalled_ += answer.bytes;
      Tell(Acknowledges{next, answer.place, answer.revision, Acknowledges::Result::kDone, {}});
    }
    clients_[next].speaks_at.reset();
    Speak(next);
    return true;
  }

  State state_;
  Instant now_;
  std::map<ProcessId, simulation::Client> clients_;
  Bytes recalled_;
  std::vector<Action> held_;
};

// The actions of that kind.
inline std::vector<Action> Only(const Actions& actions, Action::Kind kind) {
  std::vector<Action> result;
  for (const Action& action : actions) {
    if (action.kind == kind) result.push_back(action);
  }
  return result;
}

inline Refusal RefusalIn(const Actions& actions) {
  const auto refusals = Only(actions, Action::Kind::kRefuse);
  return refusals.empty() ? Refusal::kNone : refusals[0].refusal;
}

inline Policy Weighs(uint32_t weight) { return {.weight = weight}; }
inline Policy Guaranteed(Bytes bytes) { return {.guarantee = {{bytes, Bytes()}}}; }
inline Policy Limited(Bytes bytes) { return {.limit = {{bytes, kAllBytes}}}; }

}  // namespace vramspan::broker

#endif  // VRAMSPAN_TESTS_BROKER_MACHINE_H_
