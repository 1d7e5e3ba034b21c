#include "runtime/mover/memory.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/mover/remap.h"

namespace vramspan {
namespace {

// One drain for this many small frees, or for this share of the budget.
constexpr size_t kSmallQuarantine = 4096;
constexpr uint64_t kQuarantineShare = 16;
constexpr uint64_t kFillingPercent = 80;

constexpr uint64_t kLeastChunksOfBudget = 32;

int LargestChunk(Bytes budget) {
  int log2 = kMaxChunkLog2;
  while (log2 > kMinChunkLog2 && ChunkBytes(log2) * kLeastChunksOfBudget > budget) --log2;
  return log2;
}

std::string AddressText(DevicePtr p) { return absl::StrFormat("0x%x", p.value); }

}  // namespace

Memory::Memory(std::shared_ptr<const Driver> driver, const MemoryOptions& options,
               std::unique_ptr<EvictionPolicy> policy)
    : driver_(std::move(driver)), options_(options), policy_(std::move(policy)) {}

StatusOr<std::unique_ptr<Memory>> Memory::Create(std::shared_ptr<const Driver> driver,
                                                 const MemoryOptions& options,
                                                 std::unique_ptr<EvictionPolicy> policy) {
  std::unique_ptr<Memory> m(new Memory(driver, options, std::move(policy)));
  MutexLock lock(m->mu);
  VS_ASSIGN_OR_RETURN(m->arena_, Arena::Create(driver, options.arena));
  VS_ASSIGN_OR_RETURN(m->page_map_, PageMap::Create(m->arena_->base(), m->arena_->size()));
  const uint64_t capacity = m->arena_->size() / kGranularity + 1;
  VS_ASSIGN_OR_RETURN(
      m->chunks_,
      ChunkTable::Create(static_cast<uint32_t>(std::min<uint64_t>(capacity, 0xfffffffe))));
  DevicePoolOptions device;
  device.ordinal = options.ordinal;
  device.context = options.context;
  device.budget = options.device_budget;
  device.alias_space = std::min(device.alias_space, m->arena_->size());
  VS_ASSIGN_OR_RETURN(m->device_pool_, DevicePool::Create(driver, device));
  HostPoolOptions host;
  host.ordinal = options.ordinal;
  host.numa_node = options.numa_node;
  host.context = options.context;
  host.budget = options.use_host ? options.host_budget : Bytes(0);
  host.alias_space = std::min(host.alias_space, m->arena_->size());
  VS_ASSIGN_OR_RETURN(m->host_pool_, HostPool::Create(driver, host));
  if (ScopedContext current(*driver, options.context); current.status().ok()) {
    VS_RETURN_IF_ERROR(Check((*driver)->MemAlloc(&m->drain_keeper_, 256), "cuMemAlloc", "256"));
  } else {
    return current.status();
  }
  SmallObjects::Source source;
  Memory* const raw = m.get();
  source.take_chunk = [raw]() { return raw->Place({kMinChunkLog2}, nullptr); };
  source.give_chunk = [raw](DevicePtr p) {
    Range range{p, kGranularity, {}};
    {
      MutexLock l(raw->mu);
      const ChunkIndex c = raw->page_map_->Find(p);
      (*raw->chunks_)[c].dying = true;
      range.chunks.push_back(c);
    }
    raw->driver_->Note(raw->TakeApart(std::move(range)));
  };
  m->small_ = std::make_unique<SmallObjects>(std::move(source));
  return m;
}

Memory::~Memory() {
  if (small_ != nullptr) {
    MutexLock small_lock(small_mu_);
    small_.reset();
  }
  if (page_map_ == nullptr) return;  // Creation failed half-way.
  ScopedContext current(*driver_, options_.context);
  driver_->Note(current.status());
  MutexLock lock(mu);
  if (chunks_ != nullptr && current.status().ok()) {
    for (uint32_t i = 1; i < chunks_->end(); ++i) {
      Chunk& c = (*chunks_)[ChunkIndex(i)];
      if (c.state == ChunkState::kNone) continue;
      driver_->Note(Check((*driver_)->MemUnmap(c.base.value, c.size().value), "cuMemUnmap",
                          RangeText(c.base, c.size())));
      if (c.device_slot != kNoSlot) device_pool_->Release(c.device_slot);
      if (c.host_slot != kNoSlot) host_pool_->Release(c.host_slot);
    }
  }
  if (drain_keeper_ != 0) drains_left_.push_back(drain_keeper_);
  for (const CUdeviceptr p : drains_left_) {
    if (!current.status().ok()) break;
    driver_->Note(Check((*driver_)->MemFree(p), "cuMemFree", "of what keeps drains cheap"));
  }
  device_pool_.reset();
  host_pool_.reset();
}

bool Memory::Busy(const Chunk& c) const {
  return c.in_flight != 0 || c.queued != 0 || c.state == ChunkState::kMoving ||
         unknown_work.load(std::memory_order_relaxed) != 0;
}

StatusOr<DevicePtr> Memory::Allocate(Bytes size) {
  if (size.value == 0) {
    return absl::InvalidArgumentError("cannot allocate 0 bytes: ask for at least 1");
  }
  StatusOr<DevicePtr> p = AllocateOnce(size);
  if (p.ok() || !absl::IsResourceExhausted(p.status())) return p;
  // Freed memory may still wait for a drain, and packed objects keep an empty chunk.
  bool more;
  {
    MutexLock small_lock(small_mu_);
    more = !small_quarantine_.empty();
  }
  {
    MutexLock lock(mu);
    more = more || !quarantine_.empty() || !stuck_.empty();
  }
  if (more) VS_RETURN_IF_ERROR(DrainAndReclaim());
  {
    MutexLock small_lock(small_mu_);
    const size_t chunks = small_->chunks();
    small_->Trim();
    more = more || small_->chunks() != chunks;
  }
  return more ? AllocateOnce(size) : p;
}

StatusOr<DevicePtr> Memory::AllocateOnce(Bytes size) {
  DevicePtr p;
  if (size <= SmallObjects::kMaxSmall) {
    MutexLock small_lock(small_mu_);
    VS_ASSIGN_OR_RETURN(p, small_->Allocate(size));
    VS_ASSIGN_OR_RETURN(const SmallObjects::Object object, small_->Find(p));
    size = object.size;  // Counted as what it takes, so that a free can count the same.
  } else {
    if (size > page_map_->size()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("cannot allocate ", size.value, " bytes: the address arena has ",
                       page_map_->size().value, " (VRAMSPAN_ARENA)"));
    }
    Allocation allocation;
    allocation.requested = size;
    allocation.reserved = RoundUp(size, kGranularity);
    std::vector<int> sizes = ChunkSizesFor(size, options_.chunk_log2);
    // Chosen sizes leave a small budget enough chunks to choose among.
    if (const int most = LargestChunk(device_pool_->budget());
        options_.chunk_log2 == 0 && sizes.front() > most) {
      sizes = ChunkSizesFor(size, most);
    }
    allocation.first_chunk_log2 = static_cast<uint32_t>(sizes.front());
    VS_ASSIGN_OR_RETURN(p, Place(sizes, &allocation));
  }
  MutexLock lock(mu);
  ++counts_.allocations;
  counts_.allocated += size;
  counts_.peak_allocated = std::max(counts_.peak_allocated, counts_.allocated);
  return p;
}

StatusOr<Memory::Backing> Memory::Back(int log2) {
  const StatusOr<uint32_t> device = device_pool_->Acquire(log2);
  if (device.ok()) return Backing{*device, true};
  if (!options_.use_host || !absl::IsResourceExhausted(device.status())) return device.status();
  {
    MutexLock lock(mu);
    // Room that is only waiting for a drain is better than host memory.
    if (!quarantine_.empty()) return device.status();
  }
  // Beyond a budget that was lowered nothing is taken over either: what is there is to become less.
  const bool over = host_pool_->used() > host_pool_->budget();
  const StatusOr<uint32_t> host = over ? host_pool_->Acquire(log2) : AcquireHost(log2);
  if (!host.ok()) {
    return Status(host.status().code(),
                  absl::StrCat(device.status().message(), "; and ", host.status().message()));
  }
  NoteHostUse();
  return Backing{*host, false};
}

StatusOr<uint32_t> Memory::AcquireHost(int log2) {
  StatusOr<uint32_t> slot = host_pool_->Acquire(log2);
  if (slot.ok() || !absl::IsResourceExhausted(slot.status())) return slot;
  MutexLock lock(mu);
  for (uint32_t i = 1; i < chunks_->end(); ++i) {
    Chunk& c = (*chunks_)[ChunkIndex(i)];
    if (c.state != ChunkState::kDeviceTwin || c.log2_size != log2) continue;
    c.Transition(ChunkState::kDevice);
    return std::exchange(c.host_slot, kNoSlot);
  }
  return slot;
}

void Memory::Unback(Backing backing) {
  if (backing.slot == kNoSlot) return;
  if (backing.on_device) {
    device_pool_->Release(backing.slot);
  } else {
    host_pool_->Release(backing.slot);
  }
}

StatusOr<DevicePtr> Memory::Place(const std::vector<int>& log2_sizes,
                                  const Allocation* allocation) {
  Bytes total;
  for (const int log2 : log2_sizes) total += ChunkBytes(log2);
  ScopedContext current(*driver_, options_.context);
  VS_RETURN_IF_ERROR(current.status());

  DevicePtr base;
  {
    MutexLock lock(mu);
    VS_ASSIGN_OR_RETURN(base, arena_->Take(total, kGranularity));
  }
  std::vector<Backing> backing;
  backing.reserve(log2_sizes.size());
  Status status;
  DevicePtr at = base;
  for (const int log2 : log2_sizes) {
    StatusOr<Backing> b = Back(log2);
    if (!b.ok()) {
      status = b.status();
      break;
    }
    const CUmemGenericAllocationHandle handle =
        b->on_device ? device_pool_->handle(b->slot) : host_pool_->handle(b->slot);
    const CUresult r = (*driver_)->MemMap(at.value, ChunkBytes(log2).value, 0, handle, 0);
    if (r != CUDA_SUCCESS) {
      Unback(*b);
      status = DriverError(r, "cuMemMap", RangeText(at, ChunkBytes(log2)));
      break;
    }
    backing.push_back(*b);
    at = at + ChunkBytes(log2);
  }
  if (status.ok()) status = SetDeviceAccess(*driver_, options_.ordinal, base, total);

  MutexLock lock(mu);
  std::vector<ChunkIndex> added;
  for (size_t i = 0; status.ok() && i < backing.size(); ++i) {
    StatusOr<ChunkIndex> c = chunks_->Add();
    if (c.ok()) {
      added.push_back(*c);
    } else {
      status = c.status();
    }
  }
  if (!status.ok()) {
    for (const ChunkIndex c : added) chunks_->Remove(c);
    Status unmapped;
    if (at > base) {
      unmapped = Check((*driver_)->MemUnmap(base.value, (at - base).value), "cuMemUnmap",
                       RangeText(base, at - base));
      driver_->Note(unmapped);
    }
    for (const Backing& b : backing) Unback(b);
    // A range that could not be unmapped must not be handed out again: it stays taken.
    if (unmapped.ok()) arena_->Give(base, total);
    return status;
  }
  uint32_t id = 0;
  if (allocation != nullptr) {
    Allocation a = *allocation;
    a.base = base;
    a.reserved = total;
    id = allocations_.Add(a);
  }
  const bool tracked = tracking() != Tracking::kNone;
  at = base;
  for (size_t i = 0; i < backing.size(); ++i) {
    Chunk& c = (*chunks_)[added[i]];
    c.base = at;
    c.log2_size = static_cast<uint8_t>(log2_sizes[i]);
    c.allocation = id;
    c.on_device = backing[i].on_device;
    (c.on_device ? c.device_slot : c.host_slot) = backing[i].slot;
    c.tracked = tracked;
    c.Transition(ChunkState::kFresh);
    // A linked program may write from here on without our seeing it, so fresh ends at once.
    c.Transition(c.on_device ? ChunkState::kDevice : ChunkState::kHost);
    if (c.on_device) policy_->OnInsert(added[i]);
    page_map_->Set(at, c.size(), added[i]);
    at = at + c.size();
  }
  counts_.chunks += backing.size();
  return base;
}

Status Memory::Free(DevicePtr base) {
  if (base.value == 0) return absl::OkStatus();
  Chunk copy;
  Range range;
  bool drain = false;
  {
    MutexLock lock(mu);
    const ChunkIndex first = page_map_->Find(base);
    if (!first) {
      // Not ours, or freed: the allocation table knows the difference.
      return allocations_.Remove(base, 0).status();
    }
    copy = (*chunks_)[first];
    if (copy.allocation != 0) {
      VS_ASSIGN_OR_RETURN(const Allocation a, allocations_.Remove(base, copy.allocation));
      --counts_.allocations;
      counts_.allocated -= a.requested;
      range.base = a.base;
      range.size = a.reserved;
      bool known = true;
      for (DevicePtr at = a.base; at < a.base + a.reserved;) {
        const ChunkIndex index = page_map_->Find(at);
        Chunk& c = (*chunks_)[index];
        c.dying = true;
        known = known && UsersKnown(c);
        range.chunks.push_back(index);
        at = at + c.size();
      }
      if (!known) {
        quarantined_ += range.size;
        drain = quarantined_.value > device_pool_->budget().value / kQuarantineShare;
        quarantine_.push_back(std::move(range));
        range.size = Bytes(0);
      }
    }
  }
  if (copy.allocation == 0) return FreeSmall(base, copy);
  if (range.size.value != 0) return TakeApart(std::move(range));
  return drain ? DrainAndReclaim() : absl::OkStatus();
}

Status Memory::FreeSmall(DevicePtr p, const Chunk& copy) {
  bool drain = false;
  {
    MutexLock small_lock(small_mu_);
    const StatusOr<SmallObjects::Object> found = small_->Find(p);
    if (!found.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "cannot free ", AddressText(p), ": it is not allocated, or was freed already"));
    }
    const SmallObjects::Object object = *found;
    if (object.base != p) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot free ", AddressText(p), ": it lies inside the allocation at ",
                       AddressText(object.base), "; free that address"));
    }
    if (small_quarantine_.contains(p.value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot free ", AddressText(p), ": it was freed already"));
    }
    if (UsersKnown(copy) && !Busy(copy)) {
      VS_RETURN_IF_ERROR(small_->Free(p));
    } else {
      small_quarantine_.insert(p.value);
      drain = small_quarantine_.size() >= kSmallQuarantine;
    }
    MutexLock lock(mu);
    --counts_.allocations;
    counts_.allocated -= object.size;
  }
  return drain ? DrainAndReclaim() : absl::OkStatus();
}

Status Memory::TakeApart(Range range) {
  std::vector<Backing> backing;
  {
    MutexLock lock(mu);
    for (const ChunkIndex index : range.chunks) {
      if (Busy((*chunks_)[index])) {
        dying_.push_back(std::move(range));
        dying_count_.fetch_add(1, std::memory_order_relaxed);
        return absl::OkStatus();
      }
    }
    page_map_->Set(range.base, range.size, ChunkIndex());
    for (const ChunkIndex index : range.chunks) {
      Chunk& c = (*chunks_)[index];
      if (c.on_device) policy_->OnRemove(index);
      if (c.state == ChunkState::kDeviceTwin) {
        // Gone at once: until the chunk leaves the table, others may look for twins to drop.
        c.Transition(ChunkState::kDevice);
        host_pool_->Release(c.host_slot);
        c.host_slot = kNoSlot;
      }
      backing.push_back(c.on_device ? Backing{c.device_slot, true} : Backing{c.host_slot, false});
    }
  }
  ScopedContext current(*driver_, options_.context);
  Status status = current.status();
  if (status.ok()) {
    status = Check((*driver_)->MemUnmap(range.base.value, range.size.value), "cuMemUnmap",
                   RangeText(range.base, range.size));
  }
  MutexLock lock(mu);
  if (!status.ok()) {
    // Still mapped: keep it together and try again later.
    DevicePtr at = range.base;
    for (const ChunkIndex index : range.chunks) {
      Chunk& c = (*chunks_)[index];
      if (c.on_device) policy_->OnInsert(index);
      page_map_->Set(at, c.size(), index);
      at = at + c.size();
    }
    stuck_.push_back(std::move(range));
    return status;
  }
  for (const ChunkIndex index : range.chunks) {
    pins.erase(index.value);
    chunks_->Remove(index);
  }
  counts_.chunks -= range.chunks.size();
  arena_->Give(range.base, range.size);
  for (const Backing& b : backing) Unback(b);
  return absl::OkStatus();
}

bool Memory::Reclaim() {
  std::vector<Range> ready;
  {
    MutexLock lock(mu);
    const auto idle = [&](const Range& range) {
      return std::none_of(range.chunks.begin(), range.chunks.end(),
                          [&](ChunkIndex c)
                              VS_NO_THREAD_SAFETY_ANALYSIS { return Busy((*chunks_)[c]); });
    };
    for (size_t i = 0; i < dying_.size();) {
      if (!idle(dying_[i])) {
        ++i;
        continue;
      }
      ready.push_back(std::move(dying_[i]));
      dying_[i] = std::move(dying_.back());
      dying_.pop_back();
      dying_count_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  bool any = false;
  for (Range& range : ready) {
    const Status status = TakeApart(std::move(range));
    driver_->Note(status);
    any |= status.ok();
  }
  return any;
}

Status Memory::Drain() {
  ScopedContext current(*driver_, options_.context);
  VS_RETURN_IF_ERROR(current.status());
  // The one call that waits for all of a context's work, streams unknown to us included, and that a
  // capture elsewhere survives (in relaxed mode; measured). cuCtxSynchronize would ruin it.
  CUdeviceptr p = 0;
  VS_RETURN_IF_ERROR(Check((*driver_)->MemAlloc(&p, 256), "cuMemAlloc", "256, to drain"));
  const Status status = Check((*driver_)->MemFree(p), "cuMemFree", "to drain");
  if (!status.ok()) {
    MutexLock lock(mu);
    drains_left_.push_back(p);
  }
  return status;
}

Status Memory::DrainAndReclaim() {
  std::vector<Range> ranges;
  std::vector<uint64_t> small;
  {
    MutexLock small_lock(small_mu_);
    small.assign(small_quarantine_.begin(), small_quarantine_.end());
  }
  {
    MutexLock lock(mu);
    ranges.swap(quarantine_);
    quarantined_ = Bytes(0);
  }
  Status status = ranges.empty() && small.empty() ? absl::OkStatus() : Drain();
  if (!status.ok()) {
    MutexLock lock(mu);
    for (Range& range : ranges) {
      quarantined_ += range.size;
      quarantine_.push_back(std::move(range));
    }
    return status;
  }
  {
    MutexLock small_lock(small_mu_);
    for (const uint64_t p : small) {
      // Two drains at once may both have seen it; only one frees.
      if (small_quarantine_.erase(p) == 0) continue;
      const Status freed = small_->Free(DevicePtr(p));
      if (status.ok()) status = freed;
    }
  }
  {
    MutexLock lock(mu);
    for (Range& range : std::exchange(stuck_, {})) ranges.push_back(std::move(range));
  }
  for (Range& range : ranges) {
    const Status apart = TakeApart(std::move(range));
    if (status.ok()) status = apart;
  }
  Reclaim();
  return status;
}

StatusOr<Allocation> Memory::Find(DevicePtr p) {
  Chunk copy;
  {
    MutexLock lock(mu);
    const ChunkIndex index = page_map_->Find(p);
    if (!index || (*chunks_)[index].dying) {
      return absl::NotFoundError(
          absl::StrCat(AddressText(p), " does not lie in a live allocation of this runtime"));
    }
    copy = (*chunks_)[index];
    if (copy.allocation != 0) return *allocations_.Find(copy.allocation);
  }
  MutexLock small_lock(small_mu_);
  VS_ASSIGN_OR_RETURN(const SmallObjects::Object object, small_->Find(p));
  if (small_quarantine_.contains(object.base.value)) {
    return absl::NotFoundError(absl::StrCat(AddressText(p), " was freed"));
  }
  Allocation a;
  a.base = object.base;
  a.requested = a.reserved = object.size;
  return a;
}

bool Memory::ForEachChunk(DevicePtr p, Bytes size,
                          absl::FunctionRef<void(ChunkIndex, Chunk&)> visit) {
  ChunkIndex index = page_map_->Find(p);
  if (!index || (*chunks_)[index].dying) return false;
  const uint32_t allocation = (*chunks_)[index].allocation;
  const uint64_t last = size.value == 0 ? p.value : p.value + (size.value - 1);
  for (;;) {
    Chunk& c = (*chunks_)[index];
    visit(index, c);
    const DevicePtr next = c.base + c.size();
    // A packed object never leaves its chunk; the `last < p` case is an absurd size that wraps.
    if (allocation == 0 || (last >= p.value && next.value > last)) return true;
    index = page_map_->Find(next);
    if (!index || (*chunks_)[index].allocation != allocation) return true;
  }
}

bool Memory::filling() const {
  if (host_used_.load(std::memory_order_relaxed)) return true;
  const uint64_t budget = device_pool_->budget().value;
  return device_pool_->used().value >= budget - budget / 100 * (100 - kFillingPercent);
}

void Memory::NoteHostUse() {
  if (host_used_.exchange(true, std::memory_order_relaxed) || !options_.announce) return;
  Log(LogLevel::kWarning,
      absl::StrFormat("device memory is short (budget %d MiB): some data live in host memory from "
                      "here on, and move as they are used",
                      device_pool_->budget().value >> 20));
}

void Memory::PrepareHost() {
  if (!options_.use_host || !filling()) return;
  // An eighth of what the device holds in chunks of each size, at least four of them: slots come
  // back with every fetch, so what is needed ahead is a pipeline's worth, not a second device.
  std::array<Bytes, kChunkSizeCount> ready{};
  {
    MutexLock lock(mu);
    for (uint32_t i = 1; i < chunks_->end(); ++i) {
      const Chunk& c = (*chunks_)[ChunkIndex(i)];
      if (c.state != ChunkState::kNone && c.on_device) {
        ready[c.log2_size - kMinChunkLog2] += c.size();
      }
    }
  }
  for (int i = 0; i < kChunkSizeCount; ++i) {
    if (ready[i].value == 0) continue;
    const Bytes least = ChunkBytes(kMinChunkLog2 + i) * 4;
    ready[i] = std::min(std::max(Bytes(ready[i].value / 8), least), GiB(4));
  }
  host_pool_->KeepReady(ready);
}

Memory::Counts Memory::counts() {
  MutexLock lock(mu);
  return counts_;
}

}  // namespace vramspan
