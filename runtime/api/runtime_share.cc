// Memory that other processes and devices are given.
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <chrono>

#include "runtime/api/runtime.h"

namespace vramspan {
namespace {

// Chunks that running work holds cannot be taken from under it.
constexpr std::chrono::seconds kPatience{2};

}  // namespace

StatusOr<SharedMemory> Runtime::Share(DevicePtr ptr, Bytes size) {
  StatusOr<SharedMemory> shared = mover_->Share(ptr, size);
  if (!absl::IsUnavailable(shared.status())) return shared;
  // The device is full to the brim: something else leaves it, and may come back after.
  DevicePool& pool = memory_->device_pool();
  const Bytes budget = pool.budget();
  const Bytes room = std::min(RoundUp(size, kGranularity), ChunkBytes(kMaxChunkLog2));
  const Bytes in_use = std::min(pool.used(), budget);
  if (in_use > room) {
    const Bytes lowered = in_use - room;
    ApplyDeviceBudget(lowered);
    // What is cached does not leave by itself.
    pool.Trim(Bytes(0));
    pool.AwaitMost(lowered, kPatience);
    pool.Trim(Bytes(0));
    shared = mover_->Share(ptr, size);
    // Who changed it meanwhile knows better.
    if (lease_ != nullptr) {
      // The grant may have become less than what there was.
      lease_->Reapply();
    } else if (pool.budget() == lowered) {
      ApplyDeviceBudget(budget);
    }
  }
  if (!absl::IsUnavailable(shared.status())) return shared;
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot share ", size.value, " bytes: ", shared.status().message()));
}

Status Runtime::SetPeerAccess(CUdevice peer, bool allowed) {
  const CUdevice own = memory_->options().ordinal;
  const auto can_access = reinterpret_cast<decltype(&::cuDeviceCanAccessPeer)>(
      driver_->Symbol("cuDeviceCanAccessPeer"));
  int can = 0;
  if (can_access == nullptr || peer == own || can_access(&can, peer, own) != CUDA_SUCCESS ||
      can == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", peer, " cannot access memory of device ", own,
        peer == own ? ": it is the same device" : ": the driver reports no access between them"));
  }
  return memory_->peers().Set(peer, allowed);
}

}  // namespace vramspan
