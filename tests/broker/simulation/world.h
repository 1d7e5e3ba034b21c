// A machine with a broker and processes that come, work, lie, hang and die, all drawn from a seed.
//
// After every event the invariants hold, and every process was told exactly what the broker thinks
// it was. In quiet times, when nothing changes from outside, grants come to the shares that a
// reference finds, and no byte is recalled twice.
#ifndef VRAMSPAN_TESTS_BROKER_SIMULATION_WORLD_H_
#define VRAMSPAN_TESTS_BROKER_SIMULATION_WORLD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/broker/simulation/client.h"
#include "tools/broker/core/decide.h"

namespace vramspan::broker::simulation {

struct WorldOptions {
  uint64_t seed = 1;
  uint64_t events = 5'000;
  bool log = false;
};

// What a run has seen, so that a test can say that there was something to see.
struct Seen {
  uint64_t events = 0, recalls = 0, grants = 0, fences = 0, unfences = 0, refusals = 0, rooms = 0;
  uint64_t overruns = 0, forgotten = 0, restarts = 0, quiet = 0, converged = 0, steady = 0;
  uint64_t turns = 0, crowded = 0, drained = 0;
};

class World {
 public:
  explicit World(const WorldOptions& options);

  // Whether everything was as it must be.
  bool Run();
  const std::string& failure() const { return failure_; }
  const Seen& seen() const { return seen_; }
  uint64_t hash() const { return hash_; }

 private:
  // world.cc
  void Tell(const Event& event);
  void Carry(const Action& action);
  // Whether the tenant, or one around it, holds more than it may.
  bool BeyondLimit(TenantId id, Place place) const;
  void Fail(const std::string& why);
  void Print() const;
  uint64_t Below(uint64_t n) { return n == 0 ? 0 : random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  Bytes AnyBytes();
  Bytes UpTo(Bytes most) { return Bytes(Below(most.value + 1)); }
  // Goes on to the next answer or to the time that the broker named, if one comes before `end`.
  bool Next(Instant end);
  void Check(const Actions& actions);

  // world_clients.cc
  Client* AnyClient();
  void Recalled(Client& client, const Action& action);
  void GiveAnswer(Client& client, const Answer& answer);
  void Speak(Client& client);
  Said Lie();

  // world_events.cc
  void Disturb();
  void Join();
  void MakeTenant();
  Policy AnyPolicy();
  void DisturbClient(Client& client);
  void Restart();

  // world_quiet.cc
  // Everybody works on much for a while, and says so five times a second.
  void Crowd();
  void Quiet();
  void CheckShares();
  bool HostHasRoom() const;
  // What those inside use of the host, if each has room there for another slice.
  std::optional<Bytes> HostHasRoom(const Tenant& tenant) const;
  bool Obedient() const;
  // What processes have beyond what is due to them.
  double Surplus() const;

  WorldOptions options_;
  std::mt19937_64 random_;
  State state_;
  Instant now_;
  std::map<ProcessId, Client> clients_;
  std::vector<TenantId> tenants_;
  uint64_t next_id_ = 1;
  Bytes recalled_;  // Of the device, since the last quiet time began.
  std::string failure_;
  Seen seen_;
  uint64_t hash_ = 0;
};

}  // namespace vramspan::broker::simulation

#endif  // VRAMSPAN_TESTS_BROKER_SIMULATION_WORLD_H_
