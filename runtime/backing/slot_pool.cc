#include "runtime/backing/slot_pool.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "runtime/base/log.h"

namespace vramspan {
namespace {

constexpr uint32_t kSizeBits = 3;
constexpr uint32_t kSizeMask = (1u << kSizeBits) - 1;
static_assert(kChunkSizeCount < (1 << kSizeBits));

constexpr uint32_t SlotId(int log2, uint32_t index) {
  return index << kSizeBits | static_cast<uint32_t>(log2 - kMinChunkLog2);
}
constexpr int SlotLog2(uint32_t slot) { return static_cast<int>(slot & kSizeMask) + kMinChunkLog2; }
constexpr uint32_t SlotIndex(uint32_t slot) { return slot >> kSizeBits; }

constexpr size_t SizeIndex(int log2) { return static_cast<size_t>(log2 - kMinChunkLog2); }

std::string MiBText(Bytes bytes) { return absl::StrCat(bytes.value >> 20, " MiB"); }

}  // namespace

StatusOr<std::unique_ptr<SlotPool>> SlotPool::Create(std::shared_ptr<const Driver> driver,
                                                     SlotPoolOptions options) {
  const ScopedContext context(*driver, options.context);
  VS_RETURN_IF_ERROR(context.status());
  VS_ASSIGN_OR_RETURN(std::unique_ptr<Arena> aliases, Arena::Create(driver, options.alias_space));
  return std::unique_ptr<SlotPool>(
      new SlotPool(std::move(driver), std::move(options), std::move(aliases)));
}

SlotPool::SlotPool(std::shared_ptr<const Driver> driver, SlotPoolOptions options,
                   std::unique_ptr<Arena> aliases)
    : driver_(std::move(driver)),
      options_(std::move(options)),
      aliases_(std::move(aliases)),
      budget_(options_.budget) {}

SlotPool::~SlotPool() {
  // The program may have destroyed its context by now; the calls below do not insist on one.
  const ScopedContext context(*driver_, options_.context);
  for (int log2 = kMinChunkLog2; log2 <= kMaxChunkLog2; ++log2) {
    for (const Slot& slot : sizes_[SizeIndex(log2)].slots) {
      if (slot.handle == 0) continue;
      Slot left;
      const Status status = Destroy({log2, slot}, &left);
      if (!status.ok()) {
        Log(LogLevel::kWarning, absl::StrCat(MiBText(ChunkBytes(log2)), " of ", options_.memory,
                                             " memory stay in use: ", status.message()));
      }
    }
  }
}

const Slot& SlotPool::At(uint32_t slot) const {
  const size_t size = slot & kSizeMask;
  VS_CHECK(size < sizes_.size() && SlotIndex(slot) < sizes_[size].slots.size());
  const Slot& found = sizes_[size].slots[SlotIndex(slot)];
  VS_CHECK(found.handle != 0);
  return found;
}

Status SlotPool::Full(int log2) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "no room for ", MiBText(ChunkBytes(log2)), " in the ", options_.memory, " budget of ",
      MiBText(budget_), ": ", MiBText(held_ + creating_), " are in use; ", options_.budget_hint));
}

uint32_t SlotPool::Hold(int log2, size_t place) {
  Sizes& sizes = sizes_[SizeIndex(log2)];
  const uint32_t index = sizes.cached[place];
  sizes.cached.erase(sizes.cached.begin() + static_cast<std::ptrdiff_t>(place));
  sizes.held[index] = true;
  cached_ -= ChunkBytes(log2);
  held_ += ChunkBytes(log2);
  return SlotId(log2, index);
}

uint32_t SlotPool::Insert(int log2, const Slot& slot) {
  Sizes& sizes = sizes_[SizeIndex(log2)];
  uint32_t index = 0;
  if (!sizes.empty.empty()) {
    index = sizes.empty.back();
    sizes.empty.pop_back();
    sizes.slots[index] = slot;
  } else {
    index = static_cast<uint32_t>(sizes.slots.size());
    sizes.slots.push_back(slot);
    sizes.held.push_back(false);
  }
  sizes.cached.push_back(index);
  cached_ += ChunkBytes(log2);
  return SlotId(log2, index);
}

uint32_t SlotPool::TakeCached(int log2, bool with_alias) {
  if (log2 < kMinChunkLog2 || log2 > kMaxChunkLog2) return kNoSlot;
  MutexLock lock(mutex_);
  if (held_ + creating_ + ChunkBytes(log2) > budget_) return kNoSlot;
  const Sizes& sizes = sizes_[SizeIndex(log2)];
  // The latest used first: the oldest are the first to be destroyed when room is short.
  for (size_t place = sizes.cached.size(); place-- > 0;) {
    if (with_alias && sizes.slots[sizes.cached[place]].alias.value == 0) continue;
    return Hold(log2, place);
  }
  return kNoSlot;
}

StatusOr<uint32_t> SlotPool::Acquire(int log2) {
  if (log2 < kMinChunkLog2 || log2 > kMaxChunkLog2) {
    return absl::InvalidArgumentError(absl::StrCat("no chunk has 2^", log2, " bytes; allowed is 2^",
                                                   kMinChunkLog2, " to 2^", kMaxChunkLog2));
  }
  if (const uint32_t slot = TakeCached(log2, /*with_alias=*/false); slot != kNoSlot) return slot;
  const Bytes size = ChunkBytes(log2);
  {
    MutexLock lock(mutex_);
    if (held_ + creating_ + size > budget_) return Full(log2);
    creating_ += size;
  }
  const Status room = MakeRoom();
  StatusOr<CUmemGenericAllocationHandle> handle =
      room.ok() ? CreateHandle(log2) : StatusOr<CUmemGenericAllocationHandle>(room);
  // The budget may promise more than the driver has left; what is cached here helps then.
  while (absl::IsResourceExhausted(handle.status())) {
    std::vector<Detached> cached;
    {
      MutexLock lock(mutex_);
      cached = Detach(size);
    }
    if (cached.empty()) break;
    if (const Status status = DestroyAll(std::move(cached)); !status.ok()) {
      handle = status;
      break;
    }
    handle = CreateHandle(log2);
  }
  MutexLock lock(mutex_);
  creating_ -= size;
  if (!handle.ok()) return handle.status();
  Insert(log2, {*handle, DevicePtr()});
  return Hold(log2, sizes_[SizeIndex(log2)].cached.size() - 1);
}

Status SlotPool::CreateCached(int log2) {
  const Bytes size = ChunkBytes(log2);
  {
    MutexLock lock(mutex_);
    if (held_ + cached_ + creating_ + releasing_ + size > budget_) return Full(log2);
    creating_ += size;
  }
  Status status;
  Slot slot;
  if (const auto handle = CreateHandle(log2); handle.ok()) {
    slot.handle = *handle;
    if (const auto alias = MapAlias(*handle, log2); alias.ok()) {
      slot.alias = *alias;
    } else {
      status = alias.status();
    }
  } else {
    status = handle.status();
  }
  MutexLock lock(mutex_);
  creating_ -= size;
  if (slot.handle != 0) Insert(log2, slot);
  return status;
}

void SlotPool::Release(uint32_t slot) {
  std::vector<Detached> beyond;
  {
    MutexLock lock(mutex_);
    static_cast<void>(At(slot));
    const int log2 = SlotLog2(slot);
    Sizes& sizes = sizes_[SizeIndex(log2)];
    VS_CHECK(sizes.held[SlotIndex(slot)]);
    sizes.held[SlotIndex(slot)] = false;
    sizes.cached.push_back(SlotIndex(slot));
    held_ -= ChunkBytes(log2);
    cached_ += ChunkBytes(log2);
    beyond = Detach(Excess());
  }
  DestroyOrLog(std::move(beyond));
}

StatusOr<DevicePtr> SlotPool::Alias(uint32_t slot) {
  const int log2 = SlotLog2(slot);
  CUmemGenericAllocationHandle handle = 0;
  {
    MutexLock lock(mutex_);
    const Slot& at = At(slot);
    if (at.alias.value != 0) return at.alias;
    handle = at.handle;
  }
  VS_ASSIGN_OR_RETURN(const DevicePtr made, MapAlias(handle, log2));
  DevicePtr other;
  {
    MutexLock lock(mutex_);
    other = At(slot).alias;
    if (other.value == 0) {
      sizes_[SizeIndex(log2)].slots[SlotIndex(slot)].alias = made;
      return made;
    }
  }
  // Another thread was faster. Its alias serves, whether or not ours can be taken down again.
  if (const Status status = UnmapAlias(made, log2); !status.ok()) {
    Log(LogLevel::kWarning, status.message());
  }
  return other;
}

DevicePtr SlotPool::alias_or_none(uint32_t slot) const {
  MutexLock lock(mutex_);
  return At(slot).alias;
}

CUmemGenericAllocationHandle SlotPool::handle(uint32_t slot) const {
  MutexLock lock(mutex_);
  return At(slot).handle;
}

Bytes SlotPool::used() const {
  MutexLock lock(mutex_);
  return held_;
}

Bytes SlotPool::cached() const {
  MutexLock lock(mutex_);
  return cached_;
}

Bytes SlotPool::cached(int log2) const {
  MutexLock lock(mutex_);
  return ChunkBytes(log2) * sizes_[SizeIndex(log2)].cached.size();
}

Bytes SlotPool::budget() const {
  MutexLock lock(mutex_);
  return budget_;
}

Bytes SlotPool::available() const {
  MutexLock lock(mutex_);
  const Bytes used = held_ + creating_;
  return budget_ > used ? budget_ - used : Bytes(0);
}

void SlotPool::SetBudget(Bytes budget) {
  std::vector<Detached> beyond;
  {
    MutexLock lock(mutex_);
    budget_ = budget;
    beyond = Detach(Excess());
  }
  DestroyOrLog(std::move(beyond));
}

void SlotPool::Trim(Bytes keep) {
  std::vector<Detached> beyond;
  {
    MutexLock lock(mutex_);
    if (cached_ > keep) beyond = Detach(cached_ - keep);
  }
  DestroyOrLog(std::move(beyond));
}

Bytes SlotPool::Excess() const {
  const Bytes total = held_ + cached_ + creating_;
  return total > budget_ ? total - budget_ : Bytes(0);
}

std::vector<SlotPool::Detached> SlotPool::Detach(Bytes need) {
  std::vector<Detached> detached;
  Bytes got;
  while (got < need && cached_ > Bytes(0)) {
    // The smallest that is enough alone, else the largest: few driver calls, little lost.
    int pick = 0;
    for (int log2 = kMinChunkLog2; log2 <= kMaxChunkLog2; ++log2) {
      if (sizes_[SizeIndex(log2)].cached.empty()) continue;
      pick = log2;
      if (got + ChunkBytes(log2) >= need) break;
    }
    Sizes& sizes = sizes_[SizeIndex(pick)];
    const uint32_t index = sizes.cached.front();
    sizes.cached.erase(sizes.cached.begin());
    sizes.empty.push_back(index);
    detached.push_back({pick, std::exchange(sizes.slots[index], Slot())});
    got += ChunkBytes(pick);
    cached_ -= ChunkBytes(pick);
    releasing_ += ChunkBytes(pick);
  }
  return detached;
}

Status SlotPool::MakeRoom() {
  while (true) {
    std::vector<Detached> victims;
    {
      MutexLock lock(mutex_);
      victims = Detach(Excess());
      if (victims.empty()) {
        // Other threads' releases count until the driver has the memory back.
        if (releasing_ == Bytes(0) || held_ + cached_ + creating_ + releasing_ <= budget_) {
          return absl::OkStatus();
        }
        released_.Wait(mutex_);
      }
    }
    VS_RETURN_IF_ERROR(DestroyAll(std::move(victims)));
  }
}

void SlotPool::DestroyOrLog(std::vector<Detached> slots) {
  if (const Status status = DestroyAll(std::move(slots)); !status.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("cached ", options_.memory,
                                         " memory could not be given back: ", status.message()));
  }
}

Status SlotPool::DestroyAll(std::vector<Detached> slots) {
  if (slots.empty()) return absl::OkStatus();
  Status first;
  {
    const ScopedContext context(*driver_, options_.context);
    first = context.status();
    for (Detached& detached : slots) {
      if (!context.status().ok()) break;
      Slot left;
      first.Update(Destroy(detached, &left));
      detached.slot = left;
    }
  }
  MutexLock lock(mutex_);
  for (const auto& [log2, slot] : slots) {
    releasing_ -= ChunkBytes(log2);
    if (slot.handle != 0) Insert(log2, slot);
  }
  released_.NotifyAll();
  return first;
}

Status SlotPool::Destroy(const Detached& detached, Slot* left) {
  *left = detached.slot;
  if (left->alias.value != 0) {
    VS_RETURN_IF_ERROR(UnmapAlias(left->alias, detached.log2));
    left->alias = DevicePtr();
  }
  VS_RETURN_IF_ERROR(
      Check((*driver_)->MemRelease(left->handle), "cuMemRelease",
            absl::StrCat(MiBText(ChunkBytes(detached.log2)), " of ", options_.memory, " memory")));
  left->handle = 0;
  return absl::OkStatus();
}

StatusOr<CUmemGenericAllocationHandle> SlotPool::CreateHandle(int log2) {
  const ScopedContext context(*driver_, options_.context);
  VS_RETURN_IF_ERROR(context.status());
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = options_.location;
  prop.requestedHandleTypes = options_.handle_types;
  CUmemGenericAllocationHandle handle = 0;
  const CUresult result = (*driver_)->MemCreate(&handle, ChunkBytes(log2).value, &prop, 0);
  if (result == CUDA_SUCCESS) return handle;
  std::string what = absl::StrCat(MiBText(ChunkBytes(log2)), " of ", options_.memory, " memory");
  if (result == CUDA_ERROR_OUT_OF_MEMORY) absl::StrAppend(&what, ": ", options_.shortage_hint);
  return DriverError(result, "cuMemCreate", what);
}

StatusOr<DevicePtr> SlotPool::MapAlias(CUmemGenericAllocationHandle handle, int log2) {
  const ScopedContext context(*driver_, options_.context);
  VS_RETURN_IF_ERROR(context.status());
  const Bytes size = ChunkBytes(log2);
  DevicePtr alias;
  {
    MutexLock lock(mutex_);
    VS_ASSIGN_OR_RETURN(alias, aliases_->Take(size, kGranularity));
  }
  Status status = Check((*driver_)->MemMap(alias.value, size.value, 0, handle, 0), "cuMemMap",
                        RangeText(alias, size));
  if (!status.ok()) {
    MutexLock lock(mutex_);
    aliases_->Give(alias, size);
    return status;
  }
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = options_.ordinal;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  status = Check((*driver_)->MemSetAccess(alias.value, size.value, &access, 1), "cuMemSetAccess",
                 RangeText(alias, size));
  if (status.ok()) return alias;
  if (const Status undo = UnmapAlias(alias, log2); !undo.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("an alias stays mapped: ", undo.message()));
  }
  return status;
}

Status SlotPool::UnmapAlias(DevicePtr alias, int log2) {
  const Bytes size = ChunkBytes(log2);
  VS_RETURN_IF_ERROR(
      Check((*driver_)->MemUnmap(alias.value, size.value), "cuMemUnmap", RangeText(alias, size)));
  MutexLock lock(mutex_);
  aliases_->Give(alias, size);
  return absl::OkStatus();
}

}  // namespace vramspan
