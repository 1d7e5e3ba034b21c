#include "runtime/backing/slot_pool.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/space/give_back.h"

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

Status Full(const SlotPoolOptions& options, int log2, Bytes budget, Bytes used) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "no room for ", MiBText(ChunkBytes(log2)), " in the ", options.memory, " budget of ",
      MiBText(budget), ": ", MiBText(used), " are in use; ", options.budget_hint));
}

}  // namespace

StatusOr<std::unique_ptr<SlotPool>> SlotPool::Create(std::shared_ptr<const Driver> driver,
                                                     SlotPoolOptions options) {
  if (options.reclaim == nullptr) options.reclaim = [](int) { return StatusOr<bool>(false); };
  const ScopedContext context(*driver, options.context);
  VS_RETURN_IF_ERROR(context.status());
  VS_ASSIGN_OR_RETURN(std::unique_ptr<Arena> aliases, Arena::Create(driver, options.alias_space));
  return std::unique_ptr<SlotPool>(
      new SlotPool(std::move(driver), std::move(options), std::move(aliases)));
}

SlotPool::SlotPool(std::shared_ptr<const Driver> driver, SlotPoolOptions options,
                   std::unique_ptr<Arena> aliases)
    : options_(std::move(options)),
      maker_(std::move(driver), &options_, std::move(aliases)),
      budget_(options_.budget) {
  // No alias lies below the first address.
  for (SlotTable& table : tables_) table = SlotTable(maker_.base() - kGranularity);
}

SlotPool::~SlotPool() {
  // The program may have destroyed its context by now; the calls below do not insist on one.
  const ScopedContext context(driver(), options_.context);
  driver().RecordBackgroundError(context.status());
  for (int log2 = kMinChunkLog2; log2 <= kMaxChunkLog2; ++log2) {
    const SlotTable& table = tables_[SizeIndex(log2)];
    for (uint32_t index = 0; index < table.end(); ++index) {
      if (table.StateOf(index) == SlotTable::State::kEmpty) continue;
      Slot left;
      driver().RecordBackgroundError(maker_.Destroy(log2, table.Get(index), &left));
    }
  }
}

Slot SlotPool::At(uint32_t slot) const {
  const size_t size = slot & kSizeMask;
  VS_CHECK(size < tables_.size());
  return tables_[size].Get(SlotIndex(slot));
}

SlotTable& SlotPool::TableOf(uint32_t slot) {
  const size_t size = slot & kSizeMask;
  VS_CHECK(size < tables_.size());
  return tables_[size];
}

uint32_t SlotPool::Hold(int log2, bool with_alias) {
  const uint32_t index = tables_[SizeIndex(log2)].HoldLatest(with_alias);
  if (index == SlotTable::kNone) return kNoSlot;
  cached_ -= ChunkBytes(log2);
  held_ += ChunkBytes(log2);
  peak_ = std::max(peak_, held_ + creating_);
  return SlotId(log2, index);
}

void SlotPool::Insert(int log2, const Slot& slot) {
  tables_[SizeIndex(log2)].Insert(slot);
  cached_ += ChunkBytes(log2);
}

uint32_t SlotPool::TakeCached(int log2, bool with_alias) {
  if (log2 < kMinChunkLog2 || log2 > kMaxChunkLog2) return kNoSlot;
  MutexLock lock(mutex_);
  if (held_ + creating_ + ChunkBytes(log2) > budget_) return kNoSlot;
  return Hold(log2, with_alias);
}

StatusOr<uint32_t> SlotPool::Acquire(int log2, bool* refused) {
  if (log2 < kMinChunkLog2 || log2 > kMaxChunkLog2) {
    return absl::InvalidArgumentError(absl::StrCat("no chunk has 2^", log2, " bytes; use 2^",
                                                   kMinChunkLog2, " to 2^", kMaxChunkLog2));
  }
  if (const uint32_t slot = TakeCached(log2, /*with_alias=*/false); slot != kNoSlot) return slot;
  const Bytes size = ChunkBytes(log2);
  bool parked;
  {
    MutexLock lock(mutex_);
    if (held_ + creating_ + size > budget_) return Full(options_, log2, budget_, held_ + creating_);
    parked = tables_[SizeIndex(log2)].parked() != 0;
  }
  if (parked) {
    VS_RETURN_IF_ERROR(options_.reclaim(log2).status());
    if (const uint32_t slot = TakeCached(log2, /*with_alias=*/false); slot != kNoSlot) return slot;
  }
  {
    MutexLock lock(mutex_);
    if (held_ + creating_ + size > budget_) return Full(options_, log2, budget_, held_ + creating_);
    creating_ += size;
    peak_ = std::max(peak_, held_ + creating_);
  }
  const Status room = MakeRoom();
  StatusOr<CUmemGenericAllocationHandle> handle =
      room.ok() ? maker_.CreateHandle(log2, options_.handle_types)
                : StatusOr<CUmemGenericAllocationHandle>(room);
  // The budget may promise more than the driver has left; what is cached here helps then.
  while (absl::IsResourceExhausted(handle.status())) {
    std::vector<Detached> cached;
    {
      MutexLock lock(mutex_);
      cached = Detach(size);
    }
    if (cached.empty()) {
      const StatusOr<bool> reclaimed = options_.reclaim(0);
      if (!reclaimed.ok()) handle = reclaimed.status();
      if (!reclaimed.ok() || !*reclaimed) {
        if (refused != nullptr) *refused = reclaimed.ok();
        break;
      }
      continue;
    }
    if (const Status status = DestroyAll(std::move(cached)); !status.ok()) {
      handle = status;
      break;
    }
    handle = maker_.CreateHandle(log2, options_.handle_types);
  }
  MutexLock lock(mutex_);
  creating_ -= size;
  if (!handle.ok()) {
    released_.NotifyAll();
    return handle.status();
  }
  Insert(log2, {*handle, DevicePtr()});
  return Hold(log2, /*with_alias=*/false);
}

Status SlotPool::CreateCached(int log2) {
  const Bytes size = ChunkBytes(log2);
  {
    MutexLock lock(mutex_);
    if (Total() + releasing_ + size > budget_)
      return Full(options_, log2, budget_, held_ + creating_);
    creating_ += size;
  }
  Status status;
  Slot slot;
  if (const auto handle = maker_.CreateHandle(log2, options_.handle_types); handle.ok()) {
    slot.handle = *handle;
    if (const auto alias = maker_.MapAlias(*handle, log2); alias.ok()) {
      slot.alias = *alias;
    } else {
      status = alias.status();
    }
  } else {
    status = handle.status();
  }
  MutexLock lock(mutex_);
  creating_ -= size;
  if (slot.handle != 0) {
    Insert(log2, slot);
  } else {
    released_.NotifyAll();
  }
  return status;
}

void SlotPool::Release(uint32_t slot) {
  std::vector<Detached> beyond;
  {
    MutexLock lock(mutex_);
    const Bytes size = ChunkBytes(SlotLog2(slot));
    SlotTable& table = TableOf(slot);
    (table.StateOf(SlotIndex(slot)) == SlotTable::State::kParked ? parked_ : held_) -= size;
    table.Release(SlotIndex(slot));
    cached_ += size;
    if (shareable_.erase(slot) != 0) {
      beyond.push_back({SlotLog2(slot), table.Remove(SlotIndex(slot))});
      cached_ -= size;
      releasing_ += size;
    }
    for (Detached& d : Detach(Excess())) beyond.push_back(d);
  }
  driver().RecordBackgroundError(DestroyAll(std::move(beyond)));
}

StatusOr<Slot> SlotPool::MakeShareable(int log2) {
  Slot made;
  VS_ASSIGN_OR_RETURN(made.handle,
                      maker_.CreateHandle(log2, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  const StatusOr<DevicePtr> alias = maker_.MapAlias(made.handle, log2);
  if (!alias.ok()) {
    DropShareable(log2, made);
    return alias.status();
  }
  made.alias = *alias;
  return made;
}

void SlotPool::BecomeShareable(uint32_t slot, const Slot& made) {
  Slot old;
  {
    MutexLock lock(mutex_);
    old = TableOf(slot).Replace(SlotIndex(slot), made);
    shareable_.insert(slot);
  }
  DropShareable(SlotLog2(slot), old);
}

void SlotPool::DropShareable(int log2, const Slot& made) {
  const ScopedContext context(driver(), options_.context);
  driver().RecordBackgroundError(context.status());
  Slot left;
  driver().RecordBackgroundError(maker_.Destroy(log2, made, &left));
}

bool SlotPool::shareable(uint32_t slot) const {
  MutexLock lock(mutex_);
  return shareable_.contains(slot);
}

void SlotPool::Park(absl::Span<const uint32_t> slots) {
  MutexLock lock(mutex_);
  for (const uint32_t slot : slots) {
    TableOf(slot).Park(SlotIndex(slot));
    held_ -= ChunkBytes(SlotLog2(slot));
    parked_ += ChunkBytes(SlotLog2(slot));
  }
}

bool SlotPool::Unpark(absl::Span<const uint32_t> slots) {
  Bytes size;
  for (const uint32_t slot : slots) size += ChunkBytes(SlotLog2(slot));
  MutexLock lock(mutex_);
  if (held_ + creating_ + size > budget_) return false;
  for (const uint32_t slot : slots) TableOf(slot).Unpark(SlotIndex(slot));
  parked_ -= size;
  held_ += size;
  peak_ = std::max(peak_, held_ + creating_);
  return true;
}

StatusOr<DevicePtr> SlotPool::Alias(uint32_t slot) {
  const int log2 = SlotLog2(slot);
  CUmemGenericAllocationHandle handle = 0;
  {
    MutexLock lock(mutex_);
    const Slot at = At(slot);
    if (at.alias.value != 0) return at.alias;
    handle = at.handle;
  }
  VS_ASSIGN_OR_RETURN(const DevicePtr made, maker_.MapAlias(handle, log2));
  DevicePtr other;
  {
    MutexLock lock(mutex_);
    other = At(slot).alias;
    if (other.value == 0) {
      TableOf(slot).SetAlias(SlotIndex(slot), made);
      return made;
    }
  }
  // Another thread was faster. Its alias serves, whether or not ours can be taken down again.
  driver().RecordBackgroundError(maker_.UnmapAlias(made, log2));
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
  return cached_ + parked_;
}

Bytes SlotPool::cached(int log2) const {
  MutexLock lock(mutex_);
  return ChunkBytes(log2) * tables_[SizeIndex(log2)].cached();
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
  {
    MutexLock lock(mutex_);
    budget_ = budget;
  }
  TrimToBudget();
}

Bytes SlotPool::Follow(Bytes budget, Bytes most) {
  MutexLock lock(mutex_);
  return budget_ = std::min(std::max(budget, held_ + creating_), most);
}

void SlotPool::TrimToBudget() { Trim(available()); }

SlotPool::Use SlotPool::use() {
  MutexLock lock(mutex_);
  const Bytes used = held_ + creating_;
  return {.used = used,
          .taken = held_ + cached_ + parked_,
          .peak = std::max(used, std::exchange(peak_, used))};
}

void SlotPool::Trim(Bytes keep) {
  while (true) {
    std::vector<Detached> beyond;
    bool parked = false;
    {
      MutexLock lock(mutex_);
      if (cached_ + parked_ <= keep) return;
      beyond = Detach(cached_ + parked_ - keep);
      parked = parked_ != Bytes(0) && cached_ + parked_ > keep;
    }
    driver().RecordBackgroundError(DestroyAll(std::move(beyond)));
    if (!parked) return;
    const StatusOr<bool> reclaimed = options_.reclaim(0);
    driver().RecordBackgroundError(reclaimed.status());
    if (!reclaimed.ok() || !*reclaimed) return;
  }
}

Bytes SlotPool::Most() const { return std::max(budget_, Total() + releasing_); }

Bytes SlotPool::most() const {
  MutexLock lock(mutex_);
  return Most();
}

bool SlotPool::AwaitMost(Bytes most, std::chrono::nanoseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + patience;
  MutexLock lock(mutex_);
  while (Most() > most) {
    const auto left = until - Clock::now();
    if (left <= left.zero()) return false;
    released_.WaitFor(mutex_, left);
  }
  return true;
}

void SlotPool::AwaitReleases() {
  MutexLock lock(mutex_);
  while (releasing_ != Bytes(0)) released_.Wait(mutex_);
}

Bytes SlotPool::Excess() const {
  const Bytes total = Total();
  return total > budget_ ? total - budget_ : Bytes(0);
}

std::vector<SlotPool::Detached> SlotPool::Detach(Bytes need) {
  std::vector<Detached> detached;
  Bytes got;
  while (got < need && cached_ > Bytes(0)) {
    // The analysis does not see the lock from inside a lambda.
    const auto cached = [&](int log2) VS_NO_THREAD_SAFETY_ANALYSIS {
      return tables_[SizeIndex(log2)].cached() != 0;
    };
    const int pick = SizeToGiveBack(need - got, cached);
    detached.push_back({pick, tables_[SizeIndex(pick)].RemoveOldest()});
    got += ChunkBytes(pick);
    cached_ -= ChunkBytes(pick);
    releasing_ += ChunkBytes(pick);
  }
  return detached;
}

Status SlotPool::MakeRoom() {
  while (true) {
    std::vector<Detached> victims;
    bool parked = false;
    {
      MutexLock lock(mutex_);
      victims = Detach(Excess());
      parked = victims.empty() && Excess() != Bytes(0) && parked_ != Bytes(0);
      if (victims.empty() && !parked) {
        // Other threads' releases count until the driver has the memory back.
        if (releasing_ == Bytes(0) || Total() + releasing_ <= budget_) return absl::OkStatus();
        released_.Wait(mutex_);
      }
    }
    if (parked) {
      VS_ASSIGN_OR_RETURN(const bool reclaimed, options_.reclaim(0));
      // What another thread parks or takes meanwhile is for that thread to fit in.
      if (!reclaimed) return absl::OkStatus();
    }
    VS_RETURN_IF_ERROR(DestroyAll(std::move(victims)));
  }
}

Status SlotPool::DestroyAll(std::vector<Detached> slots) {
  if (slots.empty()) return absl::OkStatus();
  Status first;
  {
    const ScopedContext context(driver(), options_.context);
    first = context.status();
    for (Detached& detached : slots) {
      if (!context.status().ok()) break;
      Slot left;
      first.Update(maker_.Destroy(detached.log2, detached.slot, &left));
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

}  // namespace vramspan
