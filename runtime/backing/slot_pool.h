// What the device pool and the host pool have in common: slots of the six chunk sizes, each a
// physical handle and its staging alias, cached when a chunk lets go of them, within a budget.
//
// A slot's id is its index among the slots of its size, shifted left by three, with the size in the
// low bits, so that a slot needs no word for its size (and no id is ever kNoSlot).
//
// A slot may be parked: nobody's, but still mapped where a chunk was, so that the next chunk there
// needs no driver call. Who parked it takes it apart when the pool asks (`reclaim`): before memory
// is made that could come from there, and when there is no room.
//
// A failing driver call leaves every slot whole (slot_maker.h): what could not be undone stays a
// cached slot, with or without its alias, and is used or destroyed later.
//
// A slot may become shareable: its memory can then be given to other processes, and may outlive the
// slot there. Nobody else ever gets it: it is destroyed when its chunk lets go of it.
//
// Threads: all calls are safe. The lock is never held over a driver call.
#ifndef VRAMSPAN_RUNTIME_BACKING_SLOT_POOL_H_
#define VRAMSPAN_RUNTIME_BACKING_SLOT_POOL_H_

#include <absl/container/flat_hash_set.h>
#include <absl/types/span.h>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/backing/slot.h"
#include "runtime/backing/slot_maker.h"
#include "runtime/backing/slot_pool_options.h"
#include "runtime/backing/slot_table.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"
#include "runtime/space/arena.h"
#include "runtime/space/chunk.h"

namespace vramspan {

class SlotPool {
 public:
  static StatusOr<std::unique_ptr<SlotPool>> Create(std::shared_ptr<const Driver> driver,
                                                    SlotPoolOptions options);
  // Unmaps every alias and releases every handle, those of held slots too.
  ~SlotPool();

  // A cached slot of 2^log2 bytes, held from then on. kNoSlot when there is none, or when the pool
  // holds its whole budget already. `with_alias`: only one that has its alias.
  uint32_t TakeCached(int log2, bool with_alias);
  // A cached slot, else a created one. Cached slots of other sizes are destroyed where the budget
  // needs it, and all of them when the driver is out of memory. `refused`: where that is not null,
  // whether the driver had none though nothing was left to give back.
  StatusOr<uint32_t> Acquire(int log2, bool* refused = nullptr);
  // Creates a slot and its alias into the cache; nothing is destroyed for it.
  Status CreateCached(int log2);
  // Gives a held or parked slot back. REQUIRES: it is mapped nowhere but at its alias, and no GPU
  // work that uses it there is unfinished.
  void Release(uint32_t slot);

  // Held slots become parked, and the other way round. REQUIRES: no GPU work that uses them is
  // unfinished, and `reclaim` can find them.
  void Park(absl::Span<const uint32_t> slots);
  // All of them or, where the budget has no room, none.
  bool Unpark(absl::Span<const uint32_t> slots);

  // Memory of 2^log2 bytes that can be exported as a file descriptor, with its alias. It is the
  // caller's, and not counted, until it takes a slot's place. The budget is not asked.
  StatusOr<Slot> MakeShareable(int log2);
  // A held slot is `made` from here on. What it was is destroyed. REQUIRES: that is mapped nowhere
  // but at its alias.
  void BecomeShareable(uint32_t slot, const Slot& made);
  void DropShareable(int log2, const Slot& made);  // One that took no place.
  bool shareable(uint32_t slot) const;

  // The alias of a held slot; made on the first call.
  StatusOr<DevicePtr> Alias(uint32_t slot);
  // 0 when not made yet.
  DevicePtr alias_or_none(uint32_t slot) const;
  CUmemGenericAllocationHandle handle(uint32_t slot) const;

  const Driver& driver() const { return maker_.driver(); }
  Bytes used() const;    // In held slots.
  Bytes cached() const;  // And parked.
  Bytes cached(int log2) const;
  Bytes budget() const;
  Bytes available() const;  // What is neither held nor being made, or 0.
  void SetBudget(Bytes budget);
  // The budget that is nearest to this one without anything to be evicted, but no more than `most`.
  // Nothing is given back yet.
  Bytes Follow(Bytes budget, Bytes most);
  void TrimToBudget();  // Gives back what is cached beyond it.
  struct Use {
    Bytes used;   // In held slots, and those being made.
    Bytes taken;  // Of the driver, who has given it.
    Bytes peak;   // The most that was used since the last call.
  };
  Use use();
  // Destroys cached and parked slots until at most `keep` bytes of them are left.
  void Trim(Bytes keep);
  // The most that the driver has given, or may be asked for before the budget is raised again:
  // what is being released counts until the driver has it.
  Bytes most() const;
  // Waits until that is no more than `most`. False where it takes longer than `patience`.
  bool AwaitMost(Bytes most, std::chrono::nanoseconds patience);
  // Returns when the driver has what other threads were destroying. Slots count neither as used nor
  // as cached by then.
  void AwaitReleases();

 private:
  struct Detached {
    int log2;
    Slot slot;
  };

  SlotPool(std::shared_ptr<const Driver> driver, SlotPoolOptions options,
           std::unique_ptr<Arena> aliases);

  uint32_t Hold(int log2, bool with_alias) VS_REQUIRES(mutex_);
  void Insert(int log2, const Slot& slot) VS_REQUIRES(mutex_);
  Slot At(uint32_t slot) const VS_REQUIRES(mutex_);
  SlotTable& TableOf(uint32_t slot) VS_REQUIRES(mutex_);
  Bytes Most() const VS_REQUIRES(mutex_);
  Bytes Total() const VS_REQUIRES(mutex_) { return held_ + cached_ + parked_ + creating_; }
  // Takes cached slots out of the table until they make up `need` bytes or there are no more. Their
  // bytes count as releasing_ until DestroyAll.
  std::vector<Detached> Detach(Bytes need) VS_REQUIRES(mutex_);
  Bytes Excess() const VS_REQUIRES(mutex_);  // What is beyond the budget, of any kind.

  // Those that the driver refuses to destroy go back into the cache; the first error is returned.
  Status DestroyAll(std::vector<Detached> slots) VS_EXCLUDES(mutex_);
  // Waits for other threads' releases and destroys cached and parked slots until nothing exceeds
  // the budget.
  Status MakeRoom() VS_EXCLUDES(mutex_);

  const SlotPoolOptions options_;
  SlotMaker maker_;
  mutable Mutex mutex_;
  CondVar released_;
  std::array<SlotTable, kChunkSizeCount> tables_ VS_GUARDED_BY(mutex_);
  absl::flat_hash_set<uint32_t> shareable_ VS_GUARDED_BY(mutex_);  // All of them held.
  Bytes budget_ VS_GUARDED_BY(mutex_);
  Bytes held_ VS_GUARDED_BY(mutex_);
  Bytes cached_ VS_GUARDED_BY(mutex_);
  Bytes parked_ VS_GUARDED_BY(mutex_);
  Bytes creating_ VS_GUARDED_BY(mutex_);
  Bytes releasing_ VS_GUARDED_BY(mutex_);
  Bytes peak_ VS_GUARDED_BY(mutex_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_SLOT_POOL_H_
