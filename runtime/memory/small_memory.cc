#include "runtime/memory/small_memory.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "runtime/memory/address_text.h"

namespace vramspan {
namespace {

// One drain for this many frees.
constexpr size_t kSmallQuarantine = 4096;

}  // namespace

SmallMemory::SmallMemory(MemoryState* state, Placing* placing, Dismantler* dismantler)
    : state_(*state) {
  SmallObjects::Source source;
  source.take_chunk = [placing]() { return placing->Place({kMinChunkLog2}, nullptr); };
  source.give_chunk = [state, dismantler](DevicePtr p) {
    ChunkRange range{p, kGranularity, {}};
    {
      MutexLock lock(state->mu);
      const ChunkIndex c = state->page_map().Find(p);
      state->chunks()[c].dying = true;
      state->chunks().NoteChange(c);
      // Objects come and go unnoticed; what is known of their chunk ends here.
      state->map().AllocationsChanged();
      range.chunks.push_back(c);
    }
    state->driver().RecordBackgroundError(dismantler->TakeApart(std::move(range)));
  };
  objects_ = std::make_unique<SmallObjects>(std::move(source));
}

void SmallMemory::Close() {
  MutexLock lock(mu_);
  objects_.reset();
}

StatusOr<SmallObjects::Object> SmallMemory::Allocate(Bytes size) {
  MutexLock lock(mu_);
  VS_ASSIGN_OR_RETURN(const DevicePtr p, objects_->Allocate(size));
  return objects_->Find(p);
}

StatusOr<SmallObjects::Object> SmallMemory::Find(DevicePtr p) {
  MutexLock lock(mu_);
  VS_ASSIGN_OR_RETURN(const SmallObjects::Object object, objects_->Find(p));
  if (quarantine_.contains(object.base.value)) {
    return absl::NotFoundError(absl::StrCat(AddressText(p), " was freed"));
  }
  return object;
}

StatusOr<bool> SmallMemory::Free(DevicePtr p, const Chunk& chunk, bool idle) {
  MutexLock small_lock(mu_);
  const StatusOr<SmallObjects::Object> found = objects_->Find(p);
  if (!found.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot free ", AddressText(p),
                                                   ": it is not allocated, or was freed already"));
  }
  const SmallObjects::Object object = *found;
  if (object.base != p) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot free ", AddressText(p), ": it lies inside the allocation at ",
                     AddressText(object.base), "; free that address"));
  }
  if (quarantine_.contains(p.value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot free ", AddressText(p), ": it was freed already"));
  }
  bool drain = false;
  if (idle || (state_.UsersKnown(chunk) && !state_.Busy(chunk))) {
    VS_RETURN_IF_ERROR(objects_->Free(p));
  } else {
    quarantine_.insert(p.value);
    drain = quarantine_.size() >= kSmallQuarantine;
  }
  MutexLock lock(state_.mu);
  state_.map().CountFree(object.size, Bytes());
  return drain;
}

bool SmallMemory::any_quarantined() {
  MutexLock lock(mu_);
  return !quarantine_.empty();
}

std::vector<uint64_t> SmallMemory::Quarantined() {
  MutexLock lock(mu_);
  return {quarantine_.begin(), quarantine_.end()};
}

Status SmallMemory::Release(const std::vector<uint64_t>& objects) {
  MutexLock lock(mu_);
  Status status;
  for (const uint64_t p : objects) {
    // Two drains at once may both have seen it; only one frees.
    if (quarantine_.erase(p) == 0) continue;
    const Status freed = objects_->Free(DevicePtr(p));
    if (status.ok()) status = freed;
  }
  return status;
}

bool SmallMemory::Trim() {
  MutexLock lock(mu_);
  const size_t chunks = objects_->chunks();
  objects_->Trim();
  return objects_->chunks() != chunks;
}

Bytes SmallMemory::charged() {
  MutexLock lock(mu_);
  return kGranularity * objects_->chunks();
}

}  // namespace vramspan
