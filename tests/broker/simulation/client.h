// A process under the broker, as the simulation has it: what it really does, and what it says.
#ifndef VRAMSPAN_TESTS_BROKER_SIMULATION_CLIENT_H_
#define VRAMSPAN_TESTS_BROKER_SIMULATION_CLIENT_H_

#include <algorithm>
#include <optional>

#include "runtime/base/units.h"
#include "tools/broker/core/amounts.h"
#include "tools/broker/core/event.h"
#include "tools/broker/core/names.h"

namespace vramspan::broker::simulation {

enum class Manner : uint8_t {
  kHonest,
  kSlow,       // Answers just in time.
  kPiecemeal,  // Gives a part of what it is asked for.
  kDeferring,  // Mostly says later.
  kSilent,     // Mostly does not answer.
  kLying,      // Says anything, and answers anything.
};

struct Answer {
  Instant at;
  Place place;
  Revision revision;
  Bytes bytes;
  Bytes copied;
};

struct Client {
  ProcessId id;
  TenantId tenant;
  Manner manner = Manner::kHonest;
  bool stuck = false;
  // What it works on, and has besides.
  Bytes need;
  Bytes cold;
  Bytes cached;
  // What it was told.
  PerPlace<Bytes> grants;
  Revision revision;
  bool evicts = false, fetches = false, fenced = false, waits_for_room = false;
  PerPlace<std::optional<Answer>> answers;  // What it is about to answer.
  std::optional<Instant> speaks_at;         // It has fetched something, and says so.
  // What it really uses.
  PerPlace<Bytes> used;
  Bytes room;
  // Its work: how fast it is with all its memory, and what of it waits else.
  bool takes_turns = false;
  bool holds = false;  // It was told to.
  uint64_t works_a_second = 1000;
  uint64_t works = 0;
  Duration stalled{0};
  Instant worked_until;
  bool rests = false;    // It submits nothing for a while.
  bool in_gaps = false;  // It waits for memory while others work, and loses nothing by it.

  bool works_on() const { return !stuck && !rests && need > Bytes(); }
  // It works up to `now`: streams what it lacks, and then does a fifth of its work.
  void WorkUntil(Instant now) {
    const Duration time = now - worked_until;
    worked_until = now;
    if (!works_on() || holds || time <= Duration(0)) return;
    const bool lacks = used[Place::kDevice] < need;
    if (lacks) stalled += time * 4 / 5;
    const auto all = static_cast<uint64_t>(time.count()) * works_a_second / 1'000'000'000;
    works += lacks && !in_gaps ? all / 5 : all;
  }

  bool honest() const { return manner <= Manner::kPiecemeal; }

  // It uses what it may: what it works on first.
  void UseGrants() {
    used[Place::kDevice] = std::min(grants[Place::kDevice], Plus(Plus(need, cold), cached));
    const Bytes spilled = Minus(Plus(need, cold), used[Place::kDevice]);
    used[Place::kHost] = std::min(spilled, grants[Place::kHost]);
  }

  Said Says() const {
    Said said;
    Bytes left = used[Place::kDevice];
    const Bytes hot = std::min(left, need);
    left -= hot;
    said.used = used;
    said.cold = std::min(left, cold);
    said.cached = left - said.cold;
    said.wanted[Place::kDevice] = Minus(need, hot);
    said.works = works;
    said.stalled = stalled;
    said.holds = takes_turns;
    said.runs = works_on() && !holds;
    said.waits = works_on() && holds;
    said.wanted[Place::kHost] =
        Minus(Minus(Plus(need, cold), used[Place::kDevice]), used[Place::kHost]);
    return said;
  }
};

}  // namespace vramspan::broker::simulation

#endif  // VRAMSPAN_TESTS_BROKER_SIMULATION_CLIENT_H_
