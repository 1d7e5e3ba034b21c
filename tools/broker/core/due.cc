#include <algorithm>

#include "tools/broker/core/amounts.h"
#include "tools/broker/core/decide.h"
#include "tools/broker/core/facts.h"
#include "tools/broker/core/gpu_turns.h"
#include "tools/broker/core/turns.h"

namespace vramspan::broker {
namespace {

// The earliest of what lies ahead.
class Earliest {
 public:
  explicit Earliest(Instant now) : now_(now) {}
  void Add(Instant at) {
    if (at > now_) earliest_ = std::min(earliest_.value_or(Instant::max()), at);
  }
  std::optional<Instant> Get() const { return earliest_; }

 private:
  const Instant now_;
  std::optional<Instant> earliest_;
};

void AddProcess(const State& state, const Process& process, Earliest& due) {
  if (process.state == LeaseState::kDying) {
    due.Add(process.until);
    return;
  }
  if (process.room_wish) due.Add(process.room_wish->until);
  if (process.room_kept > Bytes()) due.Add(process.room_kept_until);
  if (process.state == LeaseState::kFenced) due.Add(process.until);
  if (!process.part.holds && Remembered(process) > DemandNow(process)) {
    due.Add(process.demand.end);
  }
  for (const Lease& lease : process.leases.values) {
    due.Add(lease.rest_until);
    due.Add(lease.retry_at);
    if (lease.short_since && !lease.hungry) {
      due.Add(After(*lease.short_since, state.settings.patience));
    }
    if (!lease.recall) continue;
    due.Add(lease.recall->deadline);
    due.Add(After(lease.recall->deadline, state.settings.fence_after));
  }
}

}  // namespace

std::optional<Instant> Due(const State& state) {
  Earliest due(state.now);
  for (const auto& [id, process] : state.processes) AddProcess(state, process, due);
  for (const Pool& pool : state.pools.values) {
    if (pool.gather_until) due.Add(*pool.gather_until);
  }
  if (Evicts(state)) due.Add(state.evict.until);
  if (state.adopting_until) due.Add(*state.adopting_until);
  if (state.fetch.holder && AnotherFetches(state, state.fetch.holder)) due.Add(state.fetch.until);
  if (const auto turns = GpuTurnDue(state)) due.Add(*turns);
  return due.Get();
}

}  // namespace vramspan::broker
