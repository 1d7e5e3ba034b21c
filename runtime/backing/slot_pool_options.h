// What a pool of slots is told when it is made: of which memory it is, and how much it may hold.
//
// A plain value.
#ifndef VRAMSPAN_RUNTIME_BACKING_SLOT_POOL_OPTIONS_H_
#define VRAMSPAN_RUNTIME_BACKING_SLOT_POOL_OPTIONS_H_

#include <functional>
#include <string>

#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"

namespace vramspan {

struct SlotPoolOptions {
  std::string memory;         // "device" or "host", for messages.
  std::string budget_hint;    // What to do when the budget is full.
  std::string shortage_hint;  // What it means that the driver is out of memory, and what to do.
  CUmemLocation location{};
  CUmemAllocationHandleType handle_types = CU_MEM_HANDLE_TYPE_NONE;
  int ordinal = 0;  // The device that gets access to the aliases.
  CUcontext context = nullptr;
  Bytes budget;
  Bytes alias_space;
  // Unmaps and releases some parked slots, one of 2^log2 bytes among them where log2 is not 0.
  // False when there are none. Called without the pool's lock.
  std::function<StatusOr<bool>(int log2)> reclaim;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_SLOT_POOL_OPTIONS_H_
