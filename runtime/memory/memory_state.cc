#include "runtime/memory/memory_state.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <utility>

namespace vramspan {

MemoryState::MemoryState(std::shared_ptr<const Driver> driver, const MemoryOptions& options,
                         std::unique_ptr<EvictionPolicy> policy)
    : driver_(std::move(driver)),
      options_(options),
      map_(std::move(policy), options.traced),
      mappings_(&map_, &freed_, options.listener) {}

Status MemoryState::Open(std::function<StatusOr<bool>(int log2)> reclaim) {
  VS_RETURN_IF_ERROR(map_.Open(driver_, options_.arena));
  const Bytes addresses = map_.arena().size();
  DevicePoolOptions device;
  device.ordinal = options_.ordinal;
  device.context = options_.context;
  device.budget = options_.device_budget;
  device.alias_space = std::min(device.alias_space, addresses);
  device.reclaim = std::move(reclaim);
  device.room = options_.room;
  VS_ASSIGN_OR_RETURN(device_pool_, DevicePool::Create(driver_, device));
  HostPoolOptions host;
  host.ordinal = options_.ordinal;
  host.place = options_.host_place;
  host.context = options_.context;
  host.budget = options_.use_host ? options_.host_budget : Bytes(0);
  host.alias_space = std::min(host.alias_space, addresses);
  VS_ASSIGN_OR_RETURN(host_pool_, HostPool::Create(driver_, host));
  map_.GiveHostCopiesTo(host_pool_.get());
  return absl::OkStatus();
}

void MemoryState::UnmapChunks() {
  absl::flat_hash_set<uint32_t> released;
  for (uint32_t i = 1; i < chunks().end(); ++i) {
    Chunk& c = chunks()[ChunkIndex(i)];
    const bool backed = c.device_slot != kNoSlot || c.host_slot != kNoSlot;
    if (c.state == ChunkState::kNone || !backed) continue;
    if (!c.unmapped) {
      driver_->RecordBackgroundError(Check((*driver_)->MemUnmap(c.base.value, c.size().value),
                                           "cuMemUnmap", RangeText(c.base, c.size())));
    }
    // One may be mapped twice.
    if (c.device_slot != kNoSlot && released.insert(c.device_slot).second) {
      device_pool_->Release(c.device_slot);
    }
    if (c.host_slot != kNoSlot) host_pool_->Release(c.host_slot);
  }
}

void MemoryState::ClosePools() {
  device_pool_.reset();
  host_pool_.reset();
}

bool MemoryState::Busy(const Chunk& c) const {
  return c.in_flight != 0 || c.queued != 0 || c.mapped_only != 0 ||
         c.state == ChunkState::kMoving || unknown_work.load(std::memory_order_relaxed) != 0;
}

}  // namespace vramspan
