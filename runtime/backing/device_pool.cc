#include "runtime/backing/device_pool.h"

#include <utility>

#include "runtime/backing/device_room.h"
#include "runtime/backing/slot_pool.h"

namespace vramspan {

class DevicePool::Impl {
 public:
  Impl(std::unique_ptr<SlotPool> pool, DeviceRoom* pools_room)
      : slots(std::move(pool)), room(pools_room) {
    if (room != nullptr) room->SetPool(slots.get());
  }
  const std::unique_ptr<SlotPool> slots;
  DeviceRoom* const room;
};

StatusOr<std::unique_ptr<DevicePool>> DevicePool::Create(std::shared_ptr<const Driver> driver,
                                                         const DevicePoolOptions& options) {
  SlotPoolOptions o;
  o.memory = "device";
  o.budget_hint = "raise the device budget or free memory";
  o.shortage_hint =
      "the device has less left than its budget says, because other processes or the driver's own "
      "needs took it; lower the device budget";
  o.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  o.location.id = options.ordinal;
  if (options.exportable) o.handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  o.ordinal = options.ordinal;
  o.context = options.context;
  o.budget = options.budget;
  o.alias_space = options.alias_space;
  o.reclaim = options.reclaim;
  VS_ASSIGN_OR_RETURN(std::unique_ptr<SlotPool> slots,
                      SlotPool::Create(std::move(driver), std::move(o)));
  return std::unique_ptr<DevicePool>(
      new DevicePool(std::make_unique<Impl>(std::move(slots), options.room)));
}

DevicePool::DevicePool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DevicePool::~DevicePool() = default;

StatusOr<uint32_t> DevicePool::Acquire(int log2) {
  if (impl_->room == nullptr) return impl_->slots->Acquire(log2);
  bool refused = false;
  StatusOr<uint32_t> slot = impl_->slots->Acquire(log2, &refused);
  if (!absl::IsResourceExhausted(slot.status()) || !impl_->room->Lacks(refused)) return slot;
  return impl_->slots->Acquire(log2);
}
void DevicePool::Release(uint32_t slot) { impl_->slots->Release(slot); }
void DevicePool::Park(absl::Span<const uint32_t> slots) { impl_->slots->Park(slots); }
bool DevicePool::Unpark(absl::Span<const uint32_t> slots) { return impl_->slots->Unpark(slots); }
StatusOr<Slot> DevicePool::MakeShareable(int log2) { return impl_->slots->MakeShareable(log2); }
void DevicePool::BecomeShareable(uint32_t slot, const Slot& made) {
  impl_->slots->BecomeShareable(slot, made);
}
void DevicePool::DropShareable(int log2, const Slot& made) {
  impl_->slots->DropShareable(log2, made);
}
bool DevicePool::shareable(uint32_t slot) const { return impl_->slots->shareable(slot); }
StatusOr<DevicePtr> DevicePool::Alias(uint32_t slot) { return impl_->slots->Alias(slot); }
CUmemGenericAllocationHandle DevicePool::handle(uint32_t slot) const {
  return impl_->slots->handle(slot);
}
Bytes DevicePool::used() const { return impl_->slots->used(); }
Bytes DevicePool::cached() const { return impl_->slots->cached(); }
Bytes DevicePool::budget() const { return impl_->slots->budget(); }
Bytes DevicePool::reach() const { return impl_->room != nullptr ? impl_->room->reach() : budget(); }
Bytes DevicePool::available() const { return impl_->slots->available(); }
void DevicePool::SetBudget(Bytes budget) { impl_->slots->SetBudget(budget); }
Bytes DevicePool::most() const { return impl_->slots->most(); }
bool DevicePool::AwaitMost(Bytes most, std::chrono::nanoseconds patience) {
  return impl_->slots->AwaitMost(most, patience);
}
void DevicePool::Trim(Bytes keep) { impl_->slots->Trim(keep); }

void DevicePool::AwaitReleases() { impl_->slots->AwaitReleases(); }

}  // namespace vramspan
