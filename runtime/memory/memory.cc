#include "runtime/memory/memory.h"

#include <absl/strings/str_cat.h>

#include <optional>
#include <utility>
#include <vector>

#include "runtime/memory/address_text.h"
#include "runtime/placement/move_limits.h"
#include "runtime/space/no_addresses.h"

namespace vramspan {

Memory::Memory(std::shared_ptr<const Driver> driver, const MemoryOptions& options,
               std::unique_ptr<EvictionPolicy> policy)
    : MemoryState(std::move(driver), options, std::move(policy)),
      peers_(this),
      supply_(this),
      placing_(this, &peers_, &supply_),
      dismantler_(this, &peers_, &supply_),
      small_(this, &placing_, &dismantler_),
      drains_(this),
      freed_(this, &dismantler_, &small_, &drains_),
      vmm_(this, &peers_, &supply_, &freed_) {}

StatusOr<std::unique_ptr<Memory>> Memory::Create(std::shared_ptr<const Driver> driver,
                                                 const MemoryOptions& options,
                                                 std::unique_ptr<EvictionPolicy> policy) {
  std::unique_ptr<Memory> m(new Memory(std::move(driver), options, std::move(policy)));
  MutexLock lock(m->mu);
  VS_RETURN_IF_ERROR(
      m->Open([raw = m.get()](int log2) { return raw->dismantler_.GiveUpKept(log2); }));
  VS_RETURN_IF_ERROR(m->drains_.Open());
  return m;
}

Memory::~Memory() {
  small_.Close();
  {
    MutexLock lock(mu);
    if (!map().open()) return;  // Creation failed half-way.
  }
  ScopedContext current(driver(), options().context);
  driver().RecordBackgroundError(current.status());
  MutexLock lock(mu);
  if (current.status().ok()) {
    UnmapChunks();
    dismantler_.GiveUpAll();
    drains_.Close();
  }
  ClosePools();
}

StatusOr<DevicePtr> Memory::Allocate(Bytes size) {
  if (size.value == 0) {
    return absl::InvalidArgumentError("cannot allocate 0 bytes; ask for at least 1");
  }
  // Where others free meanwhile, what they freed waits for a drain, too: host memory is not taken
  // for that. However much they do, this ends.
  constexpr int kMostDrains = 64, kMostInVain = 4;
  int in_vain = 0;
  StatusOr<DevicePtr> p = AllocateOnce(size);
  for (int drains = 0; drains < kMostDrains; ++drains) {
    if (p.ok() || !absl::IsResourceExhausted(p.status())) return p;
    // Freed memory may still wait for a drain, and packed objects keep an empty chunk.
    bool more = freed_.any();
    if (more) VS_RETURN_IF_ERROR(freed_.DrainAndReclaim());
    more = small_.Trim() || more;
    // What another thread has drained since is room as well.
    if (!more && ++in_vain == kMostInVain) return p;
    p = AllocateOnce(size);
  }
  return p;
}

StatusOr<DevicePtr> Memory::AllocateOnce(Bytes size) {
  DevicePtr p;
  Bytes charged;
  if (size <= SmallObjects::kMaxSmall) {
    VS_ASSIGN_OR_RETURN(const SmallObjects::Object object, small_.Allocate(size));
    p = object.base;
    size = object.size;  // Counted as what it takes, so that a free can count the same.
  } else {
    if (size > page_map().size()) {
      return NoAddresses(absl::StrCat("cannot allocate ", size.value,
                                      " bytes: the address arena has ", page_map().size().value,
                                      " bytes; raise VRAMSPAN_ARENA"));
    }
    Allocation allocation;
    allocation.requested = size;
    allocation.reserved = RoundUp(size, kGranularity);
    const std::vector<int> sizes = ChunkSizes(size);
    allocation.first_chunk_log2 = static_cast<uint32_t>(sizes.front());
    VS_ASSIGN_OR_RETURN(p, placing_.Place(sizes, &allocation));
    charged = allocation.reserved;
  }
  MutexLock lock(mu);
  map().CountAllocation(size, charged);
  return p;
}

std::vector<int> Memory::ChunkSizes(Bytes size) {
  std::vector<int> sizes = ChunkSizesFor(size, options().chunk_log2);
  // Chosen sizes leave a small budget enough chunks to choose among.
  if (const int most = LargestChunk(ExpectedBudget());
      options().chunk_log2 == 0 && sizes.front() > most) {
    sizes = ChunkSizesFor(size, most);
  }
  return sizes;
}

StatusOr<Allocation> Memory::Find(DevicePtr p) {
  {
    MutexLock lock(mu);
    const ChunkIndex index = page_map().Find(p);
    if (!map().reservations().empty()) {
      if (const std::optional<Allocation> extent = map().reservations().ExtentOf(p)) return *extent;
    }
    if (!index || chunks()[index].dying) {
      return absl::NotFoundError(
          absl::StrCat(AddressText(p), " does not lie in a live allocation of this runtime"));
    }
    if (const Allocation* allocation = map().AllocationOf(chunks()[index])) return *allocation;
  }
  VS_ASSIGN_OR_RETURN(const SmallObjects::Object object, small_.Find(p));
  Allocation a;
  a.base = object.base;
  a.requested = a.reserved = object.size;
  return a;
}

MemoryCounts Memory::counts() {
  const Bytes packed = small_.charged();
  MutexLock lock(mu);
  MemoryCounts counts = map().counts();
  counts.charged += packed;
  return counts;
}

}  // namespace vramspan
