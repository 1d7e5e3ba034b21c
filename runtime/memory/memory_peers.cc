// Memory: which other devices may touch it. Every mapping names them, so a change goes through all
// that are mapped; what is mapped meanwhile knows of it already.
#include <vector>

#include "runtime/memory/memory.h"
#include "runtime/memory/remap.h"

namespace vramspan {

Status Memory::SetPeer(int device, bool allowed) {
  MutexLock one(peers_mu_);
  {
    ExclusiveLock alone(mapping_mu);
    if (!(allowed ? accessors_.Add(device) : accessors_.Remove(device))) return absl::OkStatus();
    changing_access_ = true;
  }
  const Status status = SetAccessOfAll(
      device, allowed ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE);
  if (allowed && !status.ok()) {
    {
      ExclusiveLock alone(mapping_mu);
      accessors_.Remove(device);
    }
    driver_->RecordBackgroundError(SetAccessOfAll(device, CU_MEM_ACCESS_FLAGS_PROT_NONE));
  }
  ExclusiveLock alone(mapping_mu);
  changing_access_ = false;
  return status;
}

void Memory::AddPeerWherePossible(int device) {
  MutexLock one(peers_mu_);
  {
    ExclusiveLock alone(mapping_mu);
    if (!accessors_.AddWherePossible(device)) return;
    changing_access_ = true;
  }
  // Which are refused is what the driver says of them: nothing to be told.
  static_cast<void>(SetAccessOfAll(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  ExclusiveLock alone(mapping_mu);
  changing_access_ = false;
}

Status Memory::SetAccessOfAll(int device, CUmemAccess_flags flags) {
  ScopedContext current(*driver_, options_.context);
  VS_RETURN_IF_ERROR(current.status());
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device;
  access.flags = flags;
  Status status;
  const auto set = [&](DevicePtr at, Bytes size) {
    const Status done = Check((*driver_)->MemSetAccess(at.value, size.value, &access, 1),
                              "cuMemSetAccess", RangeText(at, size));
    if (status.ok()) status = done;
  };
  {
    // From here on none is added.
    ExclusiveLock alone(mapping_mu);
    std::vector<std::pair<DevicePtr, Bytes>> kept;
    {
      MutexLock lock(mu);
      for (const FreeRange& range : kept_.all()) kept.emplace_back(range.base, range.size);
    }
    for (const auto& [base, size] : kept) set(base, size);
  }
  // One at a time, so that the mover need not wait for all.
  for (uint32_t i = 1;; ++i) {
    ExclusiveLock alone(mapping_mu);
    DevicePtr at;
    Bytes size;
    {
      MutexLock lock(mu);
      if (i >= chunks_->end()) return status;
      const Chunk& c = (*chunks_)[ChunkIndex(i)];
      if (c.state == ChunkState::kNone || c.unmapped || c.lost) continue;
      if (page_map_->Find(c.base) != ChunkIndex(i)) continue;
      at = c.base;
      size = c.size();
    }
    set(at, size);
  }
}

}  // namespace vramspan
