#include "runtime/memory/peers.h"

#include <utility>
#include <vector>

namespace vramspan {

Status Peers::Set(int device, bool allowed) {
  MutexLock one(one_);
  {
    ExclusiveLock alone(mapping_mu);
    if (!(allowed ? accessors_.Add(device) : accessors_.Remove(device))) return absl::OkStatus();
    changing_ = true;
  }
  const Status status = SetAccessOfAll(
      device, allowed ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE);
  if (allowed && !status.ok()) {
    {
      ExclusiveLock alone(mapping_mu);
      accessors_.Remove(device);
    }
    state_.driver().RecordBackgroundError(SetAccessOfAll(device, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  }
  ExclusiveLock alone(mapping_mu);
  changing_ = false;
  return status;
}

void Peers::AddWherePossible(int device) {
  MutexLock one(one_);
  {
    ExclusiveLock alone(mapping_mu);
    if (!accessors_.AddWherePossible(device)) return;
    changing_ = true;
  }
  // Which are refused is what the driver says of them: nothing to be told.
  static_cast<void>(SetAccessOfAll(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  ExclusiveLock alone(mapping_mu);
  changing_ = false;
}

Status Peers::SetAccessOfAll(int device, CUmemAccess_flags flags) {
  ScopedContext current(state_.driver(), state_.options().context);
  VS_RETURN_IF_ERROR(current.status());
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = flags;
  Status status;
  const auto set = [&](DevicePtr at, Bytes size) {
    const Status done = Check(state_.driver()->MemSetAccess(at.value, size.value, &access, 1),
                              "cuMemSetAccess", RangeText(at, size));
    if (status.ok()) status = done;
  };
  {
    // From here on none is added.
    ExclusiveLock alone(mapping_mu);
    std::vector<std::pair<DevicePtr, Bytes>> kept;
    {
      MutexLock lock(state_.mu);
      for (const FreeRange& range : state_.freed_ranges().kept().all()) {
        kept.emplace_back(range.base, range.size);
      }
    }
    for (const auto& [base, size] : kept) set(base, size);
  }
  // One at a time, so that the mover need not wait for all.
  for (uint32_t i = 1;; ++i) {
    ExclusiveLock alone(mapping_mu);
    DevicePtr at;
    Bytes size;
    {
      MutexLock lock(state_.mu);
      if (i >= state_.chunks().end()) return status;
      const Chunk& c = state_.chunks()[ChunkIndex(i)];
      if (c.state == ChunkState::kNone || c.unmapped || c.lost) continue;
      if (state_.page_map().Find(c.base) != ChunkIndex(i)) continue;
      at = c.base;
      size = c.size();
    }
    set(at, size);
  }
}

}  // namespace vramspan
