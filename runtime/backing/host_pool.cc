#include "runtime/backing/host_pool.h"

#include <absl/strings/str_cat.h>

#include <utility>

#include "runtime/backing/host_place.h"
#include "runtime/backing/host_room.h"
#include "runtime/backing/slot_pool.h"
#include "runtime/base/log.h"
#include "runtime/base/mutex.h"
#include "runtime/base/own_calls.h"
#include "runtime/base/thread.h"

namespace vramspan {

class HostPool::Impl {
 public:
  Impl(std::unique_ptr<SlotPool> slots, std::string limits_root)
      : slots_(std::move(slots)), room_(std::move(limits_root)) {}

  ~Impl() {
    {
      MutexLock lock(mutex_);
      stop_ = true;
      wake_.NotifyAll();
    }
    thread_.Join();
  }

  StatusOr<uint32_t> Acquire(int log2) {
    const uint64_t made = Made();
    StatusOr<uint32_t> slot = AcquireHandle(log2);
    // Room that a slot being made ahead takes is room for this one.
    if (absl::IsResourceExhausted(slot.status()) && WaitForAhead(made)) slot = AcquireHandle(log2);
    Wake();
    if (!slot.ok()) return slot;
    // Made here for a slot just created, and for one whose alias failed earlier.
    if (const auto alias = slots_->Alias(*slot); !alias.ok()) {
      slots_->Release(*slot);
      return alias.status();
    }
    return slot;
  }

  uint32_t TryAcquireCached(int log2) {
    const uint32_t slot = slots_->TakeCached(log2, /*with_alias=*/true);
    if (slot != kNoSlot) Wake();
    return slot;
  }

  void Preallocate(const std::array<Bytes, kChunkSizeCount>& ready) {
    MutexLock lock(mutex_);
    ready_ = ready;
    ++wish_;
    bool any = false;
    for (const Bytes bytes : ready) any |= bytes > Bytes(0);
    // Most programs never run short of device memory, and those get no thread.
    if (any && !thread_.joinable() && !no_thread_) {
      StatusOr<Thread> thread = StartThread(
          "vramspan-host", [this] { MakeAhead(); }, [this] { NothingIsMade(); });
      no_thread_ = !thread.ok();
      if (thread.ok()) {
        thread_ = *std::move(thread);
      } else {
        Log(LogLevel::kWarning,
            absl::StrCat(thread.status().message(), ", so host memory is made when it is needed"));
      }
    }
    wake_.NotifyAll();
  }

  void SetBudget(Bytes budget) {
    slots_->SetBudget(budget);
    MutexLock lock(mutex_);
    ++wish_;
    wake_.NotifyAll();
  }

  SlotPool& slots() { return *slots_; }

 private:
  StatusOr<uint32_t> AcquireHandle(int log2) {
    const uint32_t cached = slots_->TakeCached(log2, /*with_alias=*/false);
    if (cached != kNoSlot) return cached;
    if (log2 >= kMinChunkLog2 && log2 <= kMaxChunkLog2) {
      const Bytes size = ChunkBytes(log2);
      if (slots_->available() >= size) {
        Status room = room_.Take(size);
        if (!room.ok() && slots_->cached() > Bytes(0)) {
          // What is cached in other sizes is memory that the machine gets back.
          const Bytes before = slots_->cached();
          slots_->Trim(before > size ? before - size : Bytes(0));
          room = room_.Take(size);
        }
        VS_RETURN_IF_ERROR(room);
      }
    }
    return slots_->Acquire(log2);
  }

  uint64_t Made() {
    MutexLock lock(mutex_);
    return made_;
  }

  // False where nothing was being made since `made`.
  bool WaitForAhead(uint64_t made) {
    MutexLock lock(mutex_);
    while (making_ && made_ == made) wake_.Wait(mutex_);
    return made_ != made;
  }

  // The thread looks again: a cached slot was taken.
  void Wake() {
    MutexLock lock(mutex_);
    if (thread_.joinable()) wake_.NotifyAll();
  }

  // The size that lacks most, or 0 when all is ready.
  int MostWanted() VS_REQUIRES(mutex_) {
    int wanted = 0;
    Bytes most;
    for (int log2 = kMinChunkLog2; log2 <= kMaxChunkLog2; ++log2) {
      const Bytes ready = ready_[static_cast<size_t>(log2 - kMinChunkLog2)];
      const Bytes cached = slots_->cached(log2);
      if (cached >= ready || ready - cached <= most) continue;
      most = ready - cached;
      wanted = log2;
    }
    return wanted;
  }

  void MakeAhead() {
    const OwnCalls own;
    while (true) {
      int log2 = 0;
      uint64_t wish = 0;
      {
        MutexLock lock(mutex_);
        while (!stop_ && (failed_wish_ == wish_ || (log2 = MostWanted()) == 0)) wake_.Wait(mutex_);
        if (stop_) return;
        wish = wish_;
        making_ = true;
      }
      Status status = room_.Take(ChunkBytes(log2));
      if (status.ok()) status = slots_->CreateCached(log2);
      {
        MutexLock lock(mutex_);
        making_ = false;
        ++made_;
        wake_.NotifyAll();
      }
      if (status.ok()) continue;
      // A full budget or machine, or a driver that refuses: the same call would fail again at once.
      // Being full is the business of whoever acquires; the next wish or budget is another try.
      if (!absl::IsResourceExhausted(status)) slots_->driver().RecordBackgroundError(status);
      MutexLock lock(mutex_);
      failed_wish_ = wish;
    }
  }

  // The thread ends: nobody waits for what it was making.
  void NothingIsMade() {
    MutexLock lock(mutex_);
    making_ = false;
    ++made_;
    wake_.NotifyAll();
  }

  const std::unique_ptr<SlotPool> slots_;
  HostRoom room_;
  Mutex mutex_;
  CondVar wake_;
  std::array<Bytes, kChunkSizeCount> ready_ VS_GUARDED_BY(mutex_);
  uint64_t wish_ VS_GUARDED_BY(mutex_) = 0;
  uint64_t failed_wish_ VS_GUARDED_BY(mutex_) = ~uint64_t{0};  // Not tried again.
  bool stop_ VS_GUARDED_BY(mutex_) = false;
  bool making_ VS_GUARDED_BY(mutex_) = false;
  uint64_t made_ VS_GUARDED_BY(mutex_) = 0;       // Tries that have ended.
  bool no_thread_ VS_GUARDED_BY(mutex_) = false;  // None could be had: said once.
  Thread thread_ VS_GUARDED_BY(mutex_);  // Started under the lock, joined by the destructor.
};

StatusOr<std::unique_ptr<HostPool>> HostPool::Create(std::shared_ptr<const Driver> driver,
                                                     const HostPoolOptions& options) {
  SlotPoolOptions o;
  o.memory = "host";
  o.budget_hint = "raise the host budget or free memory";
  o.shortage_hint = absl::StrCat("the host cannot pin that much more on ", PlaceText(options.place),
                                 "; free host memory, raise the container's limit, or lower the "
                                 "host budget");
  o.location = options.place;
  o.ordinal = options.ordinal;
  o.context = options.context;
  o.budget = options.budget;
  o.alias_space = options.alias_space;
  VS_ASSIGN_OR_RETURN(std::unique_ptr<SlotPool> slots,
                      SlotPool::Create(std::move(driver), std::move(o)));
  return std::unique_ptr<HostPool>(
      new HostPool(std::make_unique<Impl>(std::move(slots), options.limits_root)));
}

HostPool::HostPool(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostPool::~HostPool() = default;

StatusOr<uint32_t> HostPool::Acquire(int log2) { return impl_->Acquire(log2); }
uint32_t HostPool::TryAcquireCached(int log2) { return impl_->TryAcquireCached(log2); }
void HostPool::Release(uint32_t slot) { impl_->slots().Release(slot); }
CUmemGenericAllocationHandle HostPool::handle(uint32_t slot) const {
  return impl_->slots().handle(slot);
}
DevicePtr HostPool::alias(uint32_t slot) const { return impl_->slots().alias_or_none(slot); }
void HostPool::Preallocate(const std::array<Bytes, kChunkSizeCount>& ready) {
  impl_->Preallocate(ready);
}
Bytes HostPool::used() const { return impl_->slots().used(); }
Bytes HostPool::cached() const { return impl_->slots().cached(); }
Bytes HostPool::budget() const { return impl_->slots().budget(); }
Bytes HostPool::most() const { return impl_->slots().most(); }
bool HostPool::AwaitMost(Bytes most, std::chrono::nanoseconds patience) {
  return impl_->slots().AwaitMost(most, patience);
}
void HostPool::SetBudget(Bytes budget) { impl_->SetBudget(budget); }

}  // namespace vramspan
