// Device memory for chunks, within a budget. Handles are kept when a chunk lets go of them and used
// again for the next one of their size; handles of other sizes are given back to the driver when
// room is short. The budget may change at any time; a pool above its budget gives back what it
// caches at once and refuses to create until the mover has evicted the rest.
//
// Owns every handle. Threads: all calls are safe; no lock is held over a driver call that may be
// slow, and none is ever taken on the launch path.
#ifndef VRAMSPAN_RUNTIME_BACKING_DEVICE_POOL_H_
#define VRAMSPAN_RUNTIME_BACKING_DEVICE_POOL_H_

#include <absl/types/span.h>

#include <chrono>
#include <functional>
#include <memory>

#include "runtime/backing/slot.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"

namespace vramspan {

class DeviceRoom;

struct DevicePoolOptions {
  int ordinal = 0;
  CUcontext context = nullptr;  // Made current around driver calls.
  Bytes budget;
  Bytes alias_space = GiB(256);  // Addresses for staging aliases; only as many as slots are used.
  bool exportable = false;       // Handles carry CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.
  // For whoever parks slots: unmaps and releases some of them, one of 2^log2 bytes among them where
  // log2 is not 0. False when there are none. Called without a lock of the pool, in Acquire,
  // SetBudget and Trim.
  std::function<StatusOr<bool>(int log2)> reclaim;
  // Hears of what cannot be had, and changes the budget. Null: nobody. Outlives the pool.
  DeviceRoom* room = nullptr;
};

class DevicePool {
 public:
  static StatusOr<std::unique_ptr<DevicePool>> Create(std::shared_ptr<const Driver> driver,
                                                      const DevicePoolOptions& options);
  ~DevicePool();  // Unmaps aliases, releases every handle. REQUIRES: no chunk is mapped to one.

  // A slot of 2^log2 bytes. ResourceExhausted, naming budget and use, when the budget has no room
  // (cached slots of other sizes are released first); the driver's own error otherwise.
  StatusOr<uint32_t> Acquire(int log2);
  // Back into the cache, or to the driver when the pool is above its budget; parked slots too.
  // REQUIRES: the slot is
  // mapped nowhere but at its alias, and no GPU work that uses it there is unfinished.
  void Release(uint32_t slot);

  // A parked slot counts as cached, but is still mapped where a chunk was: the next chunk there
  // needs no driver call. REQUIRES: no GPU work that uses it is unfinished; `reclaim` finds it.
  void Park(absl::Span<const uint32_t> slots);
  // Held again, all of them or, where the budget has no room, none.
  bool Unpark(absl::Span<const uint32_t> slots);

  // Memory that other processes may be given, in the place of a held slot's (slot_pool.h): never
  // parked, and the driver's again when it is released.
  StatusOr<Slot> MakeShareable(int log2);
  void BecomeShareable(uint32_t slot, const Slot& made);
  void DropShareable(int log2, const Slot& made);
  bool shareable(uint32_t slot) const;

  // Where the slot is mapped for copies; made on the first call.
  StatusOr<DevicePtr> Alias(uint32_t slot);
  CUmemGenericAllocationHandle handle(uint32_t slot) const;

  // Bytes in slots that chunks hold; bytes cached or parked; what may still be acquired.
  Bytes used() const;
  Bytes cached() const;
  Bytes budget() const;
  // What that would come to if more were asked for: no less.
  Bytes reach() const;
  // budget - used, or 0.
  Bytes available() const;
  void SetBudget(Bytes budget);

  // Releases cached and parked handles until at most `keep` bytes are.
  void Trim(Bytes keep);
  // As of SlotPool: what the driver has given or may be asked for, and the wait for that to be
  // less.
  Bytes most() const;
  bool AwaitMost(Bytes most, std::chrono::nanoseconds patience);
  // Returns when the driver has what other threads were releasing, which counts no more by then.
  void AwaitReleases();

 private:
  class Impl;
  explicit DevicePool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_DEVICE_POOL_H_
