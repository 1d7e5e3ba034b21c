// Pinned host memory for chunks (VMM handles on the NUMA node next to the device), within a budget.
// It can only be made at about 6.5 GB/s, whatever the number of threads, so a thread of the pool
// makes it ahead of need once it is told to, and slots are kept when chunks let go of them.
//
// Owns every handle; each has a staging alias from the start. Threads: all calls are safe.
#ifndef VRAMSPAN_RUNTIME_BACKING_HOST_POOL_H_
#define VRAMSPAN_RUNTIME_BACKING_HOST_POOL_H_

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "runtime/backing/slot.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"

namespace vramspan {

struct HostPoolOptions {
  int ordinal = 0;  // The device that gets access.
  CUmemLocation place{CU_MEM_LOCATION_TYPE_HOST_NUMA, {}};
  CUcontext context = nullptr;  // Made current around driver calls.
  Bytes budget;
  Bytes alias_space = GiB(1024);
  std::string limits_root;  // ReadHostLimits' root, for tests.
};

class HostPool {
 public:
  static StatusOr<std::unique_ptr<HostPool>> Create(std::shared_ptr<const Driver> driver,
                                                    const HostPoolOptions& options);
  ~HostPool();  // Ends the thread, unmaps aliases, releases every handle.

  // A slot of 2^log2 bytes: a cached one, else made on the spot. ResourceExhausted, naming budget
  // and use and what to change, when the host budget or the machine has no room.
  StatusOr<uint32_t> Acquire(int log2);
  // Only a cached slot: never makes one and never waits. kNoSlot when there is none.
  uint32_t TryAcquireCached(int log2);
  // REQUIRES: the slot is mapped nowhere but at its alias, and no GPU work that uses it there is
  // unfinished.
  void Release(uint32_t slot);

  CUmemGenericAllocationHandle handle(uint32_t slot) const;
  DevicePtr alias(uint32_t slot) const;

  // Asks the thread to keep at least this many bytes of each chunk size (by log2 - kMinChunkLog2)
  // cached and ready, as far as the budget and the machine go. Failures there are kept quiet:
  // whoever then acquires gets the error, and the thread rests until the next call of this or of
  // SetBudget.
  void Preallocate(const std::array<Bytes, kChunkSizeCount>& ready);

  Bytes used() const;  // In slots that chunks hold.
  Bytes cached() const;
  Bytes budget() const;
  void SetBudget(Bytes budget);
  // As of SlotPool: what the driver has given or may be asked for, and the wait for that to be
  // less.
  Bytes most() const;
  bool AwaitMost(Bytes most, std::chrono::nanoseconds patience);

 private:
  class Impl;
  explicit HostPool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_HOST_POOL_H_
