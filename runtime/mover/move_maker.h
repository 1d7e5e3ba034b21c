// Carries out what the scheduler wants done to chunks: takes memory, copies, changes mappings, and
// tells what came of it. Nothing is decided here.
//
// Threads: the mover's only, but for what is guarded by the memory lock.
#ifndef VRAMSPAN_RUNTIME_MOVER_MOVE_MAKER_H_
#define VRAMSPAN_RUNTIME_MOVER_MOVE_MAKER_H_

#include <memory>
#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/memory/remap.h"
#include "runtime/memory/run_listener.h"
#include "runtime/mover/copy_engine.h"
#include "runtime/mover/driver_move.h"
#include "runtime/mover/mover_accounts.h"
#include "runtime/scheduler/scheduler.h"

namespace vramspan {

class MoveMaker {
 public:
  // All outlive it; `listener` may be null.
  MoveMaker(Memory* memory, Scheduler* scheduler, MoverAccounts* accounts, RunListener* listener)
      : memory_(*memory), scheduler_(*scheduler), accounts_(*accounts), listener_(listener) {}

  // Nothing moves before there is one.
  void Use(std::unique_ptr<CopyEngine> copy) { copy_ = std::move(copy); }
  bool ready() const { return copy_ != nullptr; }
  // Waits for copies under way.
  void Stop() { copy_.reset(); }

  // For the analysis, which does not see that the lock is the one that its caller holds.
  void Locked() VS_ASSERT_CAPABILITY(memory_.mu) {}
  // Looks which copies have ended, and tells the scheduler. Whether any had.
  bool TakeCopied() VS_REQUIRES(memory_.mu);
  void Poll() { copy_->Poll(); }
  // What was detached gives its memory back once its copy has ended.
  void ReapDetached() VS_EXCLUDES(memory_.mu);
  bool any_detached() const { return !detached_.empty(); }

  // Makes the place of the next move: what has begun cannot fail for want of memory of ours.
  void MakePlace() VS_REQUIRES(memory_.mu);
  // A move begins, and is seen to do so under the lock in which that was decided.
  void Begin(ChunkMove* move) VS_REQUIRES(memory_.mu);
  // Does what the action says, and tells the scheduler.
  void Perform(const Action& action) VS_EXCLUDES(memory_.mu);

 private:
  struct Slots {
    uint32_t device = kNoSlot, host = kNoSlot;
  };

  DriverMove& Of(const ChunkMove& move) { return *moves_[move.place]; }
  void StartOut(ChunkMove* move);
  void StartIn(ChunkMove* move);
  // Where the chunk is copied to: its own address, if that shows nothing (so most slots never need
  // an alias, which costs as much as a remap), else its slot's alias.
  StatusOr<DevicePtr> TargetOf(ChunkMove* move);
  void Refuse(ChunkMove* move, const Status& why);
  void Remap(ChunkMove* move);
  RemapResult ChangeMapping(const ChunkMove& move, Remapping how)
      VS_REQUIRES_SHARED(memory_.peers().mapping_mu);
  // Both memories hold the chunk's contents: maps that to which it was going, or the other.
  void Mend(ChunkMove* move);
  void UnmapAhead(ChunkMove* move);
  void GiveUp(ChunkMove* move);
  void Detach(ChunkMove* move);
  void MapOnHost(ChunkIndex chunk);
  // Tells the scheduler. What of the chunk's is left over.
  Slots Remapped(ChunkMove* move, RemapOutcome outcome, const Status& why) VS_REQUIRES(memory_.mu);
  // What was taken for a move.
  Slots Taken(const ChunkMove& move);
  void Release(Slots slots) VS_EXCLUDES(memory_.mu);
  void Count(std::chrono::steady_clock::time_point begin) VS_REQUIRES(memory_.mu);

  Memory& memory_;
  Scheduler& scheduler_ VS_GUARDED_BY(memory_.mu);
  MoverAccounts& accounts_ VS_GUARDED_BY(memory_.mu);
  RunListener* const listener_;
  std::unique_ptr<CopyEngine> copy_;
  std::vector<std::unique_ptr<DriverMove>> moves_;  // By place; what is over stays.
  std::vector<ChunkMove*> detached_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MOVER_MOVE_MAKER_H_
