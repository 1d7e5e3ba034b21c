// The driver's part of slots: physical handles come and go, and with them the aliases by which
// copies reach them. The pool (slot_pool.h) knows which slots there are and who holds them.
//
// A failing driver call leaves a slot whole, with or without its alias. Only an alias that can be
// neither given access nor unmapped is lost, and then its addresses are, not its memory.
//
// Threads: all calls are safe. The lock is never held over a driver call, nor over another lock.
#ifndef VRAMSPAN_RUNTIME_BACKING_SLOT_MAKER_H_
#define VRAMSPAN_RUNTIME_BACKING_SLOT_MAKER_H_

#include <memory>
#include <string>

#include "runtime/backing/slot.h"
#include "runtime/backing/slot_pool_options.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/driver/driver.h"
#include "runtime/space/arena.h"

namespace vramspan {

class SlotMaker {
 public:
  // `options` outlives it. Aliases get addresses of `aliases`.
  SlotMaker(std::shared_ptr<const Driver> driver, const SlotPoolOptions* options,
            std::unique_ptr<Arena> aliases);

  const Driver& driver() const { return *driver_; }
  // The first address that an alias may have.
  DevicePtr base() const { return base_; }

  // ResourceExhausted, with the hint of the options, where the driver is out of memory.
  StatusOr<CUmemGenericAllocationHandle> CreateHandle(int log2, CUmemAllocationHandleType types)
      VS_EXCLUDES(mutex_);
  StatusOr<DevicePtr> MapAlias(CUmemGenericAllocationHandle handle, int log2) VS_EXCLUDES(mutex_);
  Status UnmapAlias(DevicePtr alias, int log2) VS_EXCLUDES(mutex_);
  // Unmaps the alias and releases the handle; `left`: what of the slot could not be destroyed.
  Status Destroy(int log2, const Slot& slot, Slot* left) VS_EXCLUDES(mutex_);

 private:
  // What messages call memory of that size.
  std::string Text(int log2) const;

  const std::shared_ptr<const Driver> driver_;
  const SlotPoolOptions& options_;
  Mutex mutex_;
  const std::unique_ptr<Arena> aliases_ VS_PT_GUARDED_BY(mutex_);
  const DevicePtr base_;
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_BACKING_SLOT_MAKER_H_
