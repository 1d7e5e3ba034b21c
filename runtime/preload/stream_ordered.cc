#include "runtime/preload/stream_ordered.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/preload/resolver.h"

namespace vramspan::preload {
namespace {

constexpr Bytes kAlignment(512);
// How long an allocation that found no room anywhere waits for memory that is being freed. Work
// may wait for what this thread does next, so not for ever.
constexpr std::chrono::seconds kPatience{2};

// What an allocation takes, so that frees and allocations of about one size fit each other.
uint64_t CapacityFor(Bytes size) {
  return RoundUp(size, size <= SmallObjects::kMaxSmall ? kAlignment : kGranularity).value;
}
uint64_t MostFor(uint64_t capacity) { return capacity + capacity / 8; }
// So many times what a pool ever had in use it keeps while memory moves: blocks of one size are of
// no use for another, and a program whose sizes vary would have ever more.
constexpr uint64_t kMostKept = 2;
// Idle blocks of one size that are looked at for one that the stream was handed before.
constexpr size_t kEqualFits = 64;

}  // namespace

void StreamOrdered::End() {
  MutexLock lock(mu_);
  CountPending(false);
  for (const Pending& p : pending_) spare_events_.push_back(p.event);
  for (const CUevent event : spare_events_) (*runtime_.driver())->EventDestroy(event);
  pending_.clear();
  spare_events_.clear();
}

uint64_t StreamOrdered::IdOf(CUstream stream) const {
  static const auto get = DriverFunction<decltype(&::cuStreamGetId)>("cuStreamGetId");
  unsigned long long id = 0;
  // A handle is no name: it may come again while work of the stream that had it is still running.
  return get != nullptr && get(stream, &id) == CUDA_SUCCESS ? id + 1 : 0;
}

std::shared_ptr<StreamOrdered::Pool> StreamOrdered::PoolOf(CUmemoryPool handle) {
  std::shared_ptr<Pool>& pool = pools_[handle];
  if (pool == nullptr) {
    pool = std::make_shared<Pool>();
    pool->handle = handle;
    static const auto get =
        DriverFunction<decltype(&::cuMemPoolGetAttribute)>("cuMemPoolGetAttribute");
    int follows = 1;
    if (get != nullptr &&
        get(handle, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &follows) == CUDA_SUCCESS) {
      pool->follows_events = follows != 0;
    }
  }
  return pool;
}

void StreamOrdered::Complete(const Pending& pending, Freed* freed) {
  Pool* const pool = pending.block.pool.get();
  if (pool != nullptr) pool->statistics.used -= pending.block.capacity;
  if (pool == nullptr || pool->destroyed) {
    freed->push_back(pending.base);
  } else {
    pool->idle.emplace(Place(pending.block.capacity, pending.base), pending.block.stream);
  }
  spare_events_.push_back(pending.event);
}

void StreamOrdered::Poll(Freed* freed) {
  if (pending_.empty()) return CountPending(telling_ != 0);
  const ScopedRelaxed relaxed(*runtime_.driver());
  std::vector<uint64_t> behind;  // Streams that have not got to their first free.
  std::erase_if(pending_, [&](const Pending& p) VS_NO_THREAD_SAFETY_ANALYSIS {
    if (std::find(behind.begin(), behind.end(), p.stream) != behind.end()) return false;
    const CUresult result = (*runtime_.driver())->EventQuery(p.event);
    if (result != CUDA_SUCCESS) {
      if (p.stream != 0) behind.push_back(p.stream);
      return false;
    }
    Complete(p, freed);
    return true;
  });
  CountPending(!pending_.empty() || telling_ != 0);
}

void StreamOrdered::CountPending(bool any) {
  if (any == counts_) return;
  counts_ = any;
  pendings_.fetch_add(any ? 1 : -1u, std::memory_order_relaxed);
  if (!any) order_.ForgetAll();
}

void StreamOrdered::FollowEvents(CUmemoryPool handle, bool follow) {
  MutexLock lock(mu_);
  PoolOf(handle)->follows_events = follow;
}

std::map<StreamOrdered::Place, uint64_t>::iterator StreamOrdered::BestIdle(Pool* pool,
                                                                           uint64_t capacity,
                                                                           uint64_t stream,
                                                                           Fit* best) {
  auto found = pool->idle.end();
  const auto first = pool->idle.lower_bound({capacity, 0});
  size_t looked_at = 0;
  for (auto it = first; it != pool->idle.end() && ++looked_at <= kEqualFits; ++it) {
    if (it->first.first != first->first.first) break;
    const Fit fit{it->first.first, stream == 0 || it->second != stream, it->first.second};
    if (fit >= *best) continue;
    *best = fit;
    found = it;
  }
  return found;
}

bool StreamOrdered::MayTake(const Pending& pending, const Pool& pool, uint64_t stream,
                            const StreamOrder::Clock& behind) {
  if (stream == 0 || pending.stream == 0 || pending.block.pool.get() != &pool) return false;
  // Work that is submitted from here on comes after what used it.
  if (pending.stream == stream) return true;
  return pool.follows_events && StreamOrder::IsBehind(behind, pending.stream, pending.free);
}

CUdeviceptr StreamOrdered::TakeOver(const std::shared_ptr<Pool>& pool, uint64_t capacity,
                                    CUstream stream, uint64_t id) {
  Fit best{MostFor(capacity) + 1, false, 0};
  const auto idle = BestIdle(pool.get(), capacity, id, &best);
  const Fit best_idle = best;
  auto behind = pending_.end();
  const StreamOrder::Clock known = pending_.empty() ? StreamOrder::Clock() : order_.Of(id);
  for (auto it = pending_.begin(); it != pending_.end(); ++it) {
    const Fit fit{it->block.capacity, it->block.stream != id, it->base};
    if (fit.capacity < capacity || fit > best || !MayTake(*it, *pool, id, known)) continue;
    best = fit;
    behind = it;
  }
  if (behind != pending_.end() && behind->stream != id) {
    // By what is known it comes behind the free already.
    const DriverApi& driver = runtime_.driver()->api();
    if (driver.StreamWaitEvent(stream, behind->event, 0) != CUDA_SUCCESS) {
      best = best_idle;
      behind = pending_.end();
    }
  }
  if (best.capacity > MostFor(capacity)) return 0;
  if (behind != pending_.end()) {
    pool->statistics.used -= best.capacity;
    spare_events_.push_back(behind->event);
    pending_.erase(behind);
  } else {
    pool->idle.erase(idle);
  }
  HandOut(best.base, {pool, best.capacity, id});
  return best.base;
}

void StreamOrdered::HandOut(CUdeviceptr p, Block block) {
  Statistics& s = block.pool->statistics;
  s.used += block.capacity;
  s.used_high = std::max(s.used_high, s.used);
  live_[p] = std::move(block);
}

StatusOr<CUdeviceptr> StreamOrdered::Allocate(CUmemoryPool handle, Bytes size, CUstream stream) {
  ScopedContext current(*runtime_.driver(), runtime_.memory().options().context);
  VS_RETURN_IF_ERROR(current.status());
  const uint64_t capacity = CapacityFor(size);
  const uint64_t id = IdOf(stream);
  Freed freed;
  std::shared_ptr<Pool> pool;
  CUdeviceptr taken = 0;
  Bytes has;
  {
    MutexLock lock(mu_);
    Poll(&freed);
    pool = PoolOf(handle);
    taken = TakeOver(pool, capacity, stream, id);
    if (taken != 0) has = Bytes(live_[taken].capacity);
  }
  GiveBack(freed);
  if (taken != 0) {
    if (has > SmallObjects::kMaxSmall) runtime_.Own(DevicePtr(taken), has);
    return taken;
  }
  // What is not in use is better used than kept, as soon as it would cost others their place. Not
  // once memory moves: then it holds nothing and costs no copy, and giving it up takes calls of the
  // driver and makes new addresses in every step. What of it is evicted keeps host memory instead,
  // within that budget, until an allocation here finds no room.
  if (runtime_.memory().supply().filling()) Moves() ? Bound(pool.get(), capacity) : GiveUpIdle();
  const StatusOr<DevicePtr> p = WithRoomOfPools(&runtime_, Bytes(capacity),
                                                [&] { return runtime_.Allocate(Bytes(capacity)); });
  if (!p.ok()) return p.status();
  MutexLock lock(mu_);
  Statistics& s = pool->statistics;
  s.reserved += capacity;
  s.reserved_high = std::max(s.reserved_high, s.reserved);
  HandOut(p->value, {pool, capacity, id});
  return p->value;
}

CUresult StreamOrdered::Record(CUstream stream, CUevent* event) {
  const DriverApi& driver = runtime_.driver()->api();
  if (spare_events_.empty()) {
    const CUresult made = driver.EventCreate(event, CU_EVENT_DISABLE_TIMING);
    if (made != CUDA_SUCCESS) return made;
  } else {
    *event = spare_events_.back();
    spare_events_.pop_back();
  }
  const CUresult result = driver.EventRecord(*event, stream);
  if (result != CUDA_SUCCESS) spare_events_.push_back(*event);
  return result;
}

CUresult StreamOrdered::Free(CUdeviceptr p, CUstream stream) {
  ScopedContext current(*runtime_.driver(), runtime_.memory().options().context);
  if (!current.status().ok()) return ToCuResult(current.status());
  Pending pending{.base = p, .block = {}, .stream = IdOf(stream)};
  Freed freed;
  {
    MutexLock lock(mu_);
    Poll(&freed);
    const CUresult result = Record(stream, &pending.event);
    if (result != CUDA_SUCCESS) return result;
    if (const auto it = live_.find(p); it != live_.end()) {
      pending.block = std::move(it->second);
      live_.erase(it);
    }
    // The program may record an event as soon as this has returned.
    pending.free = order_.Freed(pending.stream);
    ++telling_;
    CountPending(true);
  }
  // The memory is given up here and nowhere else. Not before the event is recorded: where that
  // fails the program still has its memory, with all that is in it. Not once the block is pending:
  // from there the same stream, and with it another thread, may have been handed it and have
  // submitted what writes to it, which would be given up as well. In between it is nobody's. What
  // touches it was submitted before the free: of other work the driver says that it may not, even
  // where that runs before the stream gets to the free.
  try {
    GiveUpContents(pending);
  } catch (const std::exception&) {
    // It was a hint.
  }
  {
    MutexLock lock(mu_);
    --telling_;
    pending_.push_back(std::move(pending));
  }
  GiveBack(freed);
  return CUDA_SUCCESS;
}

void StreamOrdered::GiveUpContents(const Pending& pending) {
  Bytes size(pending.block.capacity);
  if (pending.block.pool == nullptr) {
    const StatusOr<Allocation> plain = runtime_.memory().Find(DevicePtr(pending.base));
    if (plain.ok()) size = plain->reserved;
  }
  runtime_.ForgetBlocks(DevicePtr(pending.base), size);
  // Small objects share their chunks. A hint: nothing is lost where it is not taken.
  if (size > SmallObjects::kMaxSmall)
    runtime_.GiveUp(DevicePtr(pending.base), size, /*unowned=*/true).IgnoreError();
}

void StreamOrdered::Forget(CUdeviceptr p) {
  MutexLock lock(mu_);
  const auto it = live_.find(p);
  if (it == live_.end()) return;
  it->second.pool->statistics.used -= it->second.capacity;
  it->second.pool->statistics.reserved -= it->second.capacity;
  live_.erase(it);
}

void StreamOrdered::Trim(Pool* pool, uint64_t keep, Freed* freed) {
  while (!pool->idle.empty() && pool->statistics.reserved > keep) {
    const auto largest = std::prev(pool->idle.end());
    pool->statistics.reserved -= largest->first.first;
    freed->push_back(largest->first.second);
    pool->idle.erase(largest);
  }
}

void StreamOrdered::GiveBack(const Freed& freed) {
  for (const CUdeviceptr p : freed) {
    // Its stream got to the free. To wait for other streams might be for ever: what they wait for
    // may be what this thread does next.
    const Status status = runtime_.Free(DevicePtr(p), /*idle=*/true);
    runtime_.memory().driver().RecordBackgroundError(status);
  }
}

void StreamOrdered::GiveUpIdle() {
  Freed freed;
  {
    MutexLock lock(mu_);
    for (auto& [handle, pool] : pools_) Trim(pool.get(), 0, &freed);
  }
  GiveBack(freed);
}

void StreamOrdered::Bound(Pool* pool, uint64_t capacity) {
  Freed freed;
  {
    MutexLock lock(mu_);
    const Statistics& s = pool->statistics;
    const uint64_t most = kMostKept * std::max(s.used_high, s.used + capacity);
    Trim(pool, most > capacity ? most - capacity : 0, &freed);
  }
  GiveBack(freed);
}

bool StreamOrdered::MakeRoom() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); };
  for (bool any = runtime_.memory().has_dying();;) {
    Freed freed;
    bool more = false;
    {
      MutexLock lock(mu_);
      Poll(&freed);
      for (auto& [handle, pool] : pools_) Trim(pool.get(), 0, &freed);
      more = !pending_.empty() || telling_ != 0;
    }
    any |= !freed.empty();
    GiveBack(freed);
    const bool late = std::chrono::steady_clock::now() > end;
    if (any || !more || late) {
      // It is free once the mover has seen that the work on it has ended.
      while (runtime_.memory().has_dying() && std::chrono::steady_clock::now() < end) pause();
      return any;
    }
    pause();
  }
}

void StreamOrdered::Synchronised() {
  static const auto get =
      DriverFunction<decltype(&::cuMemPoolGetAttribute)>("cuMemPoolGetAttribute");
  Freed freed;
  {
    MutexLock lock(mu_);
    Poll(&freed);
    for (auto& [handle, pool] : pools_) {
      if (pool->idle.empty()) continue;
      cuuint64_t threshold = 0;
      if (get == nullptr ||
          get(handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold) != CUDA_SUCCESS) {
        continue;
      }
      Trim(pool.get(), threshold, &freed);
    }
  }
  GiveBack(freed);
}

void StreamOrdered::TrimTo(CUmemoryPool handle, size_t keep) {
  Freed freed;
  {
    MutexLock lock(mu_);
    Poll(&freed);
    if (const auto it = pools_.find(handle); it != pools_.end()) {
      Trim(it->second.get(), keep, &freed);
    }
  }
  GiveBack(freed);
}

std::shared_ptr<StreamOrdered::Pool> StreamOrdered::TakeOut(CUmemoryPool handle) {
  MutexLock lock(mu_);
  const auto it = pools_.find(handle);
  if (it == pools_.end()) return nullptr;
  std::shared_ptr<Pool> pool = std::move(it->second);
  pools_.erase(it);
  return pool;
}

void StreamOrdered::PutBack(const std::shared_ptr<Pool>& pool) {
  MutexLock lock(mu_);
  if (pool != nullptr) pools_.emplace(pool->handle, pool);
}

void StreamOrdered::Destroyed(const std::shared_ptr<Pool>& pool) {
  if (pool == nullptr) return;
  Freed freed;
  {
    MutexLock lock(mu_);
    pool->destroyed = true;
    Trim(pool.get(), 0, &freed);
  }
  GiveBack(freed);
}

StreamOrdered::Statistics StreamOrdered::Of(CUmemoryPool handle) {
  Freed freed;
  Statistics s;
  {
    MutexLock lock(mu_);
    Poll(&freed);
    if (const auto it = pools_.find(handle); it != pools_.end()) s = it->second->statistics;
  }
  GiveBack(freed);
  return s;
}

void StreamOrdered::ResetHighs(CUmemoryPool handle, bool used, bool reserved) {
  MutexLock lock(mu_);
  const auto it = pools_.find(handle);
  if (it == pools_.end()) return;
  Statistics& s = it->second->statistics;
  if (used) s.used_high = s.used;
  if (reserved) s.reserved_high = s.reserved;
}

namespace {

struct Registry {
  Mutex mu;
  absl::flat_hash_map<Runtime*, std::shared_ptr<StreamOrdered>> by_runtime VS_GUARDED_BY(mu);
  std::atomic<bool> any{false};
};

Registry& TheRegistry() {
  static Registry* const registry = new Registry;
  return *registry;
}

}  // namespace

std::shared_ptr<StreamOrdered> StreamOrderedOf(Runtime* runtime) {
  Registry& registry = TheRegistry();
  MutexLock lock(registry.mu);
  std::shared_ptr<StreamOrdered>& found = registry.by_runtime[runtime];
  if (found == nullptr) {
    found = std::make_shared<StreamOrdered>(runtime);
    registry.any.store(true, std::memory_order_release);
  }
  return found;
}

bool MakeRoomOfPools(Runtime* runtime, Bytes size) {
  // Nothing that is given up would do.
  Memory& memory = runtime->memory();
  if (size > memory.device_pool().budget() + memory.host_pool().budget()) return false;
  for (const auto& of : AllStreamOrdered()) {
    if (&of->runtime() == runtime) return of->MakeRoom();
  }
  return false;
}

void EndStreamOrdered(Runtime* runtime) {
  Registry& registry = TheRegistry();
  std::shared_ptr<StreamOrdered> ended;
  {
    MutexLock lock(registry.mu);
    const auto found = registry.by_runtime.find(runtime);
    if (found == registry.by_runtime.end()) return;
    ended = std::move(found->second);
    registry.by_runtime.erase(found);
  }
  // Others may hold it still, and the runtime's end does not wait for them.
  ended->End();
}

std::vector<std::shared_ptr<StreamOrdered>> AllStreamOrdered() {
  Registry& registry = TheRegistry();
  std::vector<std::shared_ptr<StreamOrdered>> all;
  if (!registry.any.load(std::memory_order_acquire)) return all;
  MutexLock lock(registry.mu);
  for (const auto& [runtime, memory] : registry.by_runtime) all.push_back(memory);
  return all;
}

}  // namespace vramspan::preload
