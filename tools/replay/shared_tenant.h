// One of several programs on a device: its lease and its mover, on the clock of all.
//
// Threads: one.
#ifndef VRAMSPAN_TOOLS_REPLAY_SHARED_TENANT_H_
#define VRAMSPAN_TOOLS_REPLAY_SHARED_TENANT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tools/broker/core/action.h"
#include "tools/broker/core/event.h"
#include "tools/replay/chunked_run.h"
#include "tools/replay/shared_replay.h"
#include "tools/replay/simulated_mover.h"
#include "tools/replay/tenant_lease.h"

namespace vramspan::replay {

class SharedTenant {
 public:
  // `program` outlives this. Which of all it is, from 0, names its process and its tenant.
  SharedTenant(const SharedProgram* program, size_t index) : program_(*program), index_(index) {}

  broker::ProcessId process() const { return broker::ProcessId(index_ + 1); }
  broker::TenantId tenant() const { return broker::TenantId(index_ + 1); }
  const SharedProgram& program() const { return program_; }

  // --- its life: it comes, has heard of its grant and begins, ends, and its memory goes ---
  bool came() const { return lease_ != nullptr || ended_; }
  bool alive() const { return mover_ != nullptr; }
  bool over() const { return ended_; }
  void Come(Bytes device_memory);
  void Begin(const ReplayPrices& prices, Bytes device_memory);
  void End(uint64_t now);
  // Whether that is so now; once.
  bool MemoryGoes(uint64_t now);

  // --- REQUIRES of all that follow: it has come; and below the next line, that it is alive ---
  void Told(const broker::Action& action, uint64_t now);
  Bytes grant() const { return lease_->grant(); }

  // Something has changed for its program.
  bool touched() const { return touched_; }
  // Does what is to be done now. False: the program is over.
  bool Settle();
  // What it answers and says. `page`: the broker looks at what nobody said.
  std::vector<broker::Event> LookRound(uint64_t now, bool page);
  // What it has of the device's time for kernels, and who else copies over the bus, from now on.
  void Share(uint64_t now, double share, const LinkCrowd& others);
  // Its clock goes on to that of all: up to its next event.
  void CatchUp(uint64_t now);
  // Its next event has come.
  bool Due(uint64_t now) const { return next_ <= now; }
  void Pass(uint64_t now);

  // --- when something is to do: of its program, found last; of its lease; of a kernel ---
  void FindNext(uint64_t now);
  uint64_t next() const { return next_; }
  uint64_t LeaseDue() const;
  uint64_t NextStart() const;
  uint64_t gone_at() const { return gone_at_; }
  bool computes() const { return mover_->computes(); }
  LinkCrowd copies() const { return {mover_->Copies(true), mover_->Copies(false)}; }

  // What came of it, but for what others measure.
  const TenantResult& result() const { return result_; }

 private:
  const SharedProgram& program_;
  const size_t index_;
  std::unique_ptr<ChunkedRun> chunks_;
  std::unique_ptr<TenantLease> lease_;
  std::unique_ptr<SimulatedMover> mover_;
  bool ended_ = false, touched_ = false;
  uint64_t next_ = kNever;
  uint64_t gone_at_ = kNever;
  double share_ = 1;
  LinkCrowd crowd_;
  uint64_t recalled_at_ = 0;
  Bytes recalled_, out_before_;
  TenantResult result_;
};

}  // namespace vramspan::replay

#endif  // VRAMSPAN_TOOLS_REPLAY_SHARED_TENANT_H_
