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
    said.wanted[Place::kHost] =
        Minus(Minus(Plus(need, cold), used[Place::kDevice]), used[Place::kHost]);
    return said;
  }
};

}  // namespace vramspan::broker::simulation

#endif  // VRAMSPAN_TESTS_BROKER_SIMULATION_CLIENT_H_
