#include "runtime/memory/memory.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <algorithm>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/placement/move_limits.h"

namespace vramspan {
namespace {

std::string AddressText(DevicePtr p) { return absl::StrFormat("0x%x", p.value); }

}  // namespace

Memory::Memory(std::shared_ptr<const Driver> driver, const MemoryOptions& options,
               std::unique_ptr<EvictionPolicy> policy)
    : driver_(std::move(driver)),
      options_(options),
      policy_(std::move(policy)),
      accessors_(options.ordinal) {}

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
  device.reclaim = [raw = m.get()](int log2) { return raw->GiveUpKept(log2); };
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
    raw->driver_->RecordBackgroundError(raw->TakeApart(std::move(range)));
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
  driver_->RecordBackgroundError(current.status());
  MutexLock lock(mu);
  absl::flat_hash_set<uint32_t> released;
  if (chunks_ != nullptr && current.status().ok()) {
    for (uint32_t i = 1; i < chunks_->end(); ++i) {
      Chunk& c = (*chunks_)[ChunkIndex(i)];
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
  if (current.status().ok()) {
    while (const std::optional<FreeRange> range = kept_.TakeOldest(0)) {
      driver_->RecordBackgroundError(
          Check((*driver_)->MemUnmap(range->base.value, range->size.value), "cuMemUnmap",
                RangeText(range->base, range->size)));
      for (const uint32_t slot : range->slots) device_pool_->Release(slot);
    }
  }
  if (drain_keeper_ != 0) drains_left_.push_back(drain_keeper_);
  for (const CUdeviceptr p : drains_left_) {
    if (!current.status().ok()) break;
    driver_->RecordBackgroundError(
        Check((*driver_)->MemFree(p), "cuMemFree", "of what keeps drains cheap"));
  }
  device_pool_.reset();
  host_pool_.reset();
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
  Bytes charged;
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
    charged = allocation.reserved;
  }
  MutexLock lock(mu);
  ++counts_.allocations;
  counts_.allocated += size;
  counts_.charged += charged;
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
    const bool copy = c.state == ChunkState::kDeviceTwin || c.state == ChunkState::kDeviceStale;
    if (!copy || c.log2_size != log2) continue;
    c.Transition(ChunkState::kDevice);
    return std::exchange(c.host_slot, kNoSlot);
  }
  return slot;
}

void Memory::DropHostCopy(ChunkIndex index) {
  Chunk& c = (*chunks_)[index];
  if (c.state != ChunkState::kDeviceTwin && c.state != ChunkState::kDeviceStale) return;
  c.Transition(ChunkState::kDevice);
  host_pool_->Release(c.host_slot);
  c.host_slot = kNoSlot;
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
  std::optional<Mapped> mapped;
  Status status;
  {
    // Until it has chunks again, who changes access would find it nowhere.
    SharedLock mapping(mapping_mu);
    mapped = TakeKept(total, log2_sizes.front());
    if (mapped) status = Register(*mapped, log2_sizes, allocation);
  }
  if (mapped && status.ok()) return mapped->base;
  // One for all that follows: what was mapped in it can be unmapped again.
  ScopedContext current(*driver_, options_.context);
  VS_RETURN_IF_ERROR(current.status());
  if (!mapped) {
    VS_ASSIGN_OR_RETURN(mapped, MapNew(total, log2_sizes));
    status = Publish(*mapped, log2_sizes, allocation);
  }
  if (!status.ok()) {
    Unmap(*mapped);
    return status;
  }
  return mapped->base;
}

std::optional<Memory::Mapped> Memory::TakeKept(Bytes size, int first_log2) {
  MutexLock lock(mu);
  std::optional<FreeRange> kept = kept_.Take(size, first_log2);
  if (!kept) return std::nullopt;
  if (!device_pool_->Unpark(kept->slots)) {
    kept_.Add(*std::move(kept));
    return std::nullopt;
  }
  Mapped mapped{kept->base, size, size, {}};
  for (const uint32_t slot : kept->slots) mapped.backing.push_back({slot, true});
  return mapped;
}

StatusOr<Memory::Mapped> Memory::MapNew(Bytes total, const std::vector<int>& log2_sizes) {
  Mapped mapped;
  mapped.size = total;
  {
    MutexLock lock(mu);
    VS_ASSIGN_OR_RETURN(mapped.base, arena_->Take(total, kGranularity));
  }
  mapped.backing.reserve(log2_sizes.size());
  Status status;
  for (const int log2 : log2_sizes) {
    StatusOr<Backing> b = Back(log2);
    if (!b.ok()) {
      status = b.status();
      break;
    }
    const CUmemGenericAllocationHandle handle =
        b->on_device ? device_pool_->handle(b->slot) : host_pool_->handle(b->slot);
    const DevicePtr at = mapped.base + mapped.mapped;
    const CUresult r = (*driver_)->MemMap(at.value, ChunkBytes(log2).value, 0, handle, 0);
    if (r != CUDA_SUCCESS) {
      Unback(*b);
      status = DriverError(r, "cuMemMap", RangeText(at, ChunkBytes(log2)));
      break;
    }
    mapped.backing.push_back(*b);
    mapped.mapped += ChunkBytes(log2);
  }
  if (status.ok()) return mapped;
  Unmap(mapped);
  return status;
}

void Memory::Unmap(const Mapped& mapped) {
  Status status;
  if (mapped.mapped != Bytes(0)) {
    status = Check((*driver_)->MemUnmap(mapped.base.value, mapped.mapped.value), "cuMemUnmap",
                   RangeText(mapped.base, mapped.mapped));
  }
  for (const Backing& b : mapped.backing) Unback(b);
  driver_->RecordBackgroundError(status);
  // A range that could not be unmapped must not be handed out again: it stays taken.
  if (!status.ok()) return;
  MutexLock lock(mu);
  arena_->Give(mapped.base, mapped.size);
}

Status Memory::Publish(const Mapped& mapped, const std::vector<int>& log2_sizes,
                       const Allocation* allocation) {
  SharedLock mapping(mapping_mu);
  VS_RETURN_IF_ERROR(GiveAccess(*driver_, accessors_, mapped.base, mapped.size));
  return Register(mapped, log2_sizes, allocation);
}

Status Memory::Register(const Mapped& mapped, const std::vector<int>& log2_sizes,
                        const Allocation* allocation) {
  MutexLock lock(mu);
  VS_ASSIGN_OR_RETURN(const std::vector<ChunkIndex> added, AddChunks(log2_sizes.size()));
  uint32_t id = 0;
  if (allocation != nullptr) {
    Allocation a = *allocation;
    a.base = mapped.base;
    a.reserved = mapped.size;
    id = allocations_.Add(a);
    AllocationsChanged();
  }
  FillChunks(added, mapped.base, mapped.backing, log2_sizes, id);
  return absl::OkStatus();
}

StatusOr<std::vector<ChunkIndex>> Memory::AddChunks(size_t count) {
  std::vector<ChunkIndex> added;
  added.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    StatusOr<ChunkIndex> c = chunks_->Add();
    if (!c.ok()) {
      for (const ChunkIndex other : added) chunks_->Remove(other);
      return c.status();
    }
    added.push_back(*c);
  }
  return added;
}

void Memory::FillChunks(const std::vector<ChunkIndex>& added, DevicePtr base,
                        absl::Span<const Backing> backing, absl::Span<const int> log2_sizes,
                        uint32_t allocation) {
  const bool tracked = tracking() != Tracking::kNone;
  DevicePtr at = base;
  for (size_t i = 0; i < added.size(); ++i) {
    Chunk& c = (*chunks_)[added[i]];
    const Backing& b = backing[i];
    c.base = at;
    c.log2_size = static_cast<uint8_t>(log2_sizes[i]);
    c.allocation = allocation;
    c.on_device = b.on_device;
    (c.on_device ? c.device_slot : c.host_slot) = b.slot;
    c.tracked = tracked;
    c.movable = options_.traced && allocation != 0;
    c.Transition(ChunkState::kFresh);
    // A linked program may write from here on without our seeing it, so fresh ends at once.
    c.Transition(c.on_device ? ChunkState::kDevice : ChunkState::kHost);
    if (c.on_device) policy_->OnInsert(added[i]);
    page_map_->Set(at, c.size(), added[i]);
    at = at + c.size();
  }
  counts_.chunks += added.size();
}

void Memory::AllocationsChanged() {
  static std::atomic<uint64_t> last{1};
  allocations_state_.store(last.fetch_add(1, std::memory_order_relaxed) + 1,
                           std::memory_order_release);
}

StatusOr<Allocation> Memory::Find(DevicePtr p) {
  Chunk copy;
  {
    MutexLock lock(mu);
    const ChunkIndex index = page_map_->Find(p);
    if (!reservations_.empty()) {
      if (const std::optional<Allocation> extent = ExtentOf(p)) return *extent;
    }
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
  const auto find = [this](DevicePtr at) VS_NO_THREAD_SAFETY_ANALYSIS {
    const ChunkIndex index = page_map_->Find(at);
    return index || reservations_.empty() ? index : NextInReservation(at);
  };
  ChunkIndex index = find(p);
  if (!index) return false;
  const uint32_t allocation = (*chunks_)[index].allocation;
  const uint64_t last = size.value == 0 ? p.value : p.value + (size.value - 1);
  bool any = false;
  for (;;) {
    Chunk& c = (*chunks_)[index];
    // The `last < p` case is an absurd size that wraps.
    if (last >= p.value && c.base.value > last) return any;
    if (!c.dying) {
      visit(index, c);
      any = true;
    }
    const DevicePtr next = c.base + c.size();
    // A packed object never leaves its chunk.
    if (allocation == 0 || (last >= p.value && next.value > last)) return any;
    index = find(next);
    if (!index || (*chunks_)[index].allocation != allocation) return any;
  }
}

bool Memory::filling() const {
  if (host_used_.load(std::memory_order_relaxed)) return true;
  return IsFilling(device_pool_->used(), device_pool_->budget());
}

bool Memory::short_of_device() const {
  return host_used_.load(std::memory_order_relaxed) ||
         device_pool_->used() > device_pool_->budget();
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
  host_pool_->Preallocate(ready);
}

Memory::Counts Memory::counts() {
  Bytes packed;
  {
    MutexLock small_lock(small_mu_);
    packed = kGranularity * small_->chunks();
  }
  MutexLock lock(mu);
  Counts counts = counts_;
  counts.charged += packed;
  return counts;
}

}  // namespace vramspan
