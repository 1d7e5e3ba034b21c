// The memory of one device: addresses, chunks, and the pools that back them, under one lock. It
// places new allocations and takes freed ones apart; it never moves anything.
//
// Freed memory is taken apart only when no GPU work can touch it any more. Where all work is
// recorded (see Tracking) that is known chunk by chunk; before, it waits in a quarantine until the
// context has been drained once for many frees, the way cuMemFree itself waits. What lies on the
// device then stays mapped until an allocation of the same size takes it over or its memory is
// needed (free_range_cache.h).
//
// Threads: every function may be called from any thread; those that need `mu` say so.
#ifndef VRAMSPAN_RUNTIME_MEMORY_MEMORY_H_
#define VRAMSPAN_RUNTIME_MEMORY_MEMORY_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/backing/device_pool.h"
#include "runtime/backing/host_pool.h"
#include "runtime/base/mutex.h"
#include "runtime/driver/driver.h"
#include "runtime/memory/free_range_cache.h"
#include "runtime/memory/remap.h"
#include "runtime/memory/run_listener.h"
#include "runtime/placement/policy.h"
#include "runtime/space/allocations.h"
#include "runtime/space/arena.h"
#include "runtime/space/chunk_table.h"
#include "runtime/space/page_map.h"
#include "runtime/space/small_objects.h"

namespace vramspan {

struct MemoryOptions {
  int ordinal = 0;
  int numa_node = 0;
  CUcontext context = nullptr;
  Bytes device_budget;
  Bytes host_budget;
  Bytes arena = GiB(4096);
  int chunk_log2 = 0;               // 0: chosen per allocation.
  bool use_host = true;             // False: an allocation that does not fit on the device fails.
  bool traced = false;              // Every use of its memory is seen, from the start.
  bool announce = true;             // One line on stderr when data first go to host memory.
  RunListener* listener = nullptr;  // Outlives the memory.
};

// Waits for all work of the context, in streams that are not known, too; captures survive it.
// `left`: set to memory that could not be freed again.
Status DrainContext(const Driver& driver, CUcontext context, CUdeviceptr* left);

class Memory {
 private:
  struct Backing {
    uint32_t slot = kNoSlot;
    bool on_device = false;
  };

 public:
  static StatusOr<std::unique_ptr<Memory>> Create(std::shared_ptr<const Driver> driver,
                                                  const MemoryOptions& options,
                                                  std::unique_ptr<EvictionPolicy> policy);
  // Takes everything apart. REQUIRES: no GPU work uses it, nothing is moving.
  ~Memory();

  StatusOr<DevicePtr> Allocate(Bytes size) VS_EXCLUDES(mu);
  Status Free(DevicePtr base) VS_EXCLUDES(mu);

  // The live allocation that holds `p`; its id is 0 for a packed object.
  StatusOr<Allocation> Find(DevicePtr p) VS_EXCLUDES(mu);
  // Another value, that no memory had before, once an allocation begins or ends to be found, or has
  // another size, unless it is a packed object. Never 0.
  uint64_t allocations_state() const { return allocations_state_.load(std::memory_order_acquire); }

  // Addresses and memory that come apart, for what programs do with the driver's VMM calls
  // (memory_vmm.cc). A range that was reserved is one allocation with holes: chunks are where
  // detached memory was mapped. Memory that is not mapped keeps its contents and its place, device
  // or host.
  class Detached {
   public:
    Bytes size() const { return size_; }

   private:
    friend class Memory;
    Bytes size_;
    std::vector<int> log2_sizes_;
    std::vector<Backing> backing_;
  };
  // Errors of detached memory: ResourceExhausted where neither device nor host has room; of ranges:
  // InvalidArgument for what was not reserved, is mapped, or is not mapped.
  StatusOr<DevicePtr> Reserve(Bytes size, Bytes alignment) VS_EXCLUDES(mu);
  Status Unreserve(DevicePtr base, Bytes size) VS_EXCLUDES(mu);
  // Whole granules.
  StatusOr<Detached> MakeDetached(Bytes size) VS_EXCLUDES(mu);
  // REQUIRES: not mapped.
  void ReleaseDetached(Detached detached) VS_EXCLUDES(mu);
  // An error changes nothing.
  Status MapDetached(const Detached& detached, DevicePtr at) VS_EXCLUDES(mu);
  // Maps what MapDetached mapped at `first` at `at` as well; pinned there, as long as that is
  // mapped. REQUIRES: what is at `first` is pinned.
  Status MapAgain(DevicePtr first, DevicePtr at) VS_EXCLUDES(mapping_mu, mu);
  // Copies its contents to [to, to + size). REQUIRES: nothing moves it.
  Status CopyDetached(const Detached& detached, DevicePtr to) VS_EXCLUDES(mu);

  // What is mapped at `at`, for as long as nothing moves it.
  StatusOr<Detached> DetachedAt(DevicePtr at) VS_REQUIRES(mu);

  // What MapDetached mapped comes out in steps, for the mover to wait in between (mover_unmap.cc).
  // The chunks of the mapping at `at`: from here on no work names them, and no move of them begins.
  StatusOr<std::vector<ChunkIndex>> Claim(DevicePtr at) VS_REQUIRES(mu);
  void Unclaim(absl::Span<const ChunkIndex> chunks) VS_REQUIRES(mu);
  struct Taken {
    DevicePtr at;
    Detached detached;  // Of what was mapped elsewhere as well this is one of several.
    std::vector<ChunkIndex> chunks;
    std::vector<bool> unmapped;
  };
  // Nothing finds them any more. REQUIRES: the mover is not at work on them.
  Taken TakeOut(DevicePtr at, const std::vector<ChunkIndex>& chunks) VS_REQUIRES(mu)
      VS_REQUIRES_SHARED(mapping_mu);
  // As it was, unless it was `unmapped`: then it is mapped again, where the driver lets that be.
  void PutBack(const Taken& taken, bool unmapped) VS_REQUIRES_SHARED(mapping_mu) VS_EXCLUDES(mu);
  // It is not mapped any more. Chunks that work still counts go when it has ended.
  void Leave(const Taken& taken) VS_REQUIRES(mu);

  // Whether another device may touch the memory from here on, what is allocated later as well
  // (memory_peers.cc). Where allowing it fails it may not; where taking it back fails it may still
  // touch some. It may be called while memory moves.
  Status SetPeer(int device, bool allowed) VS_EXCLUDES(mapping_mu, mu);
  // The same for what the driver lets it touch, for good: what lies on the host, where the devices
  // do not reach each other.
  void AddPeerWherePossible(int device) VS_EXCLUDES(mapping_mu, mu);
  // Who maps memory, or unmaps it, holds this shared from before it asks who may touch it until the
  // chunk tells what came of it; who changes that holds it alone. Taken before mu.
  SharedMutex mapping_mu;
  const Accessors& accessors() const VS_REQUIRES_SHARED(mapping_mu) { return accessors_; }

  // Calls `visit` for each chunk that [p, p + size) touches, clipped to the allocation in which it
  // starts. Returns false, without a call, when there is none in a live allocation of ours.
  bool ForEachChunk(DevicePtr p, Bytes size, absl::FunctionRef<void(ChunkIndex, Chunk&)> visit)
      VS_REQUIRES(mu);

  void SetTracking(Tracking tracking) { tracking_.store(tracking, std::memory_order_release); }
  Tracking tracking() const {
    if (tracking_stopped_.load(std::memory_order_acquire)) return Tracking::kNone;
    return tracking_.load(std::memory_order_acquire);
  }
  // Work is not seen any more: from here on nothing is known of anybody's users.
  void StopTracking() { tracking_stopped_.store(true, std::memory_order_release); }
  // True when every work that may touch the chunk is counted in it.
  bool UsersKnown(const Chunk& c) const { return vramspan::UsersKnown(c, tracking()); }

  // Declared work of unknown ranges that has not finished: while there is any, nothing that is
  // freed is known to be out of use.
  std::atomic<uint32_t> unknown_work{0};

  // Takes apart freed memory whose work has finished. Returns true if anything was.
  bool Reclaim() VS_EXCLUDES(mu);
  // Waits for all of the context's work, as cuMemFree does.
  Status Drain() VS_EXCLUDES(mu);
  // Drains if anything is quarantined, and takes that apart, and what the driver refused before.
  Status DrainAndReclaim() VS_EXCLUDES(mu);
  bool has_dying() const { return dying_count_.load(std::memory_order_relaxed) != 0; }

  // A slot of host memory; where there is no room, that of some chunk's twin: a twin is only a
  // saving, and who asks needs the memory more.
  StatusOr<uint32_t> AcquireHost(int log2) VS_EXCLUDES(mu);

  // Says once that data went to host memory, and starts making more of it.
  void NoteHostUse();
  // Whether any ever has.
  bool host_used() const { return host_used_.load(std::memory_order_relaxed); }
  // Makes host memory ready in the background once the device is filling up.
  void PrepareHost();

  // True once the device budget is 80 % used or host memory backs anything: from then on what moves
  // need is made ready, and declared work is worth recording.
  bool filling() const;
  // True once host memory backs anything, and while more is used than the budget allows: from then
  // on traced work is worth recording.
  bool short_of_device() const;

  struct Counts {
    uint64_t allocations = 0;
    Bytes allocated, peak_allocated;
    Bytes charged;  // What the driver would take for it as plain device memory: whole granules.
    uint64_t chunks = 0;
  };
  Counts counts() VS_EXCLUDES(mu);

  const Driver& driver() const { return *driver_; }
  const std::shared_ptr<const Driver>& shared_driver() const { return driver_; }
  const MemoryOptions& options() const { return options_; }
  // 256 bytes of the driver's own memory, allocated in the context as any program does it.
  CUdeviceptr plain() const { return drain_keeper_; }
  DevicePool& device_pool() { return *device_pool_; }
  HostPool& host_pool() { return *host_pool_; }
  const PageMap& page_map() const { return *page_map_; }

  // Guards chunks, allocations and the policy, here and in the mover.
  Mutex mu;
  absl::flat_hash_map<uint32_t, uint32_t> pins VS_GUARDED_BY(mu);  // Pin counts by chunk.
  // A host chunk that nobody is to touch soon need not be mapped: most of what a remap costs is the
  // page table of host memory (docs/findings/0003-what-a-remap-costs.md). Who is to touch it has it
  // shown first.
  bool any_unmapped() const VS_NO_THREAD_SAFETY_ANALYSIS { return chunks_->unmapped() != 0; }
  // Gives up the host copy of a chunk on the device, if there is one.
  void DropHostCopy(ChunkIndex index) VS_REQUIRES(mu);
  ChunkTable& chunks() VS_REQUIRES(mu) { return *chunks_; }
  EvictionPolicy& policy() VS_REQUIRES(mu) { return *policy_; }

 private:
  struct Range {  // A piece of address space with its chunks, as it is taken or given back.
    DevicePtr base;
    Bytes size;
    std::vector<ChunkIndex> chunks;
    std::vector<bool> gone = {};  // By position in chunks: nothing is mapped there.
  };
  // Unmaps what is mapped of the range, and notes that in `gone`.
  Status UnmapRange(Range* range) VS_EXCLUDES(mu);

  Memory(std::shared_ptr<const Driver> driver, const MemoryOptions& options,
         std::unique_ptr<EvictionPolicy> policy);

  StatusOr<DevicePtr> AllocateOnce(Bytes size) VS_EXCLUDES(mu);
  // Addresses and backing for chunks of these sizes; `allocation` describes them, none for chunks
  // of packed objects.
  StatusOr<DevicePtr> Place(const std::vector<int>& log2_sizes, const Allocation* allocation)
      VS_EXCLUDES(mu);
  StatusOr<Backing> Back(int log2);
  void Unback(Backing backing);
  struct Mapped {  // A range with what backs it, not known to the page map yet.
    DevicePtr base;
    Bytes size;
    Bytes mapped;  // From the base; less than the size where something failed.
    std::vector<Backing> backing;
  };
  std::optional<Mapped> TakeKept(Bytes size, int first_log2) VS_EXCLUDES(mu);
  // Without access. Of this, Publish and Unmap the context is the caller's to make current: one for
  // all of them, so that what could be mapped can be unmapped.
  StatusOr<Mapped> MapNew(Bytes total, const std::vector<int>& log2_sizes) VS_EXCLUDES(mu);
  // Gives access and makes its chunks.
  Status Publish(const Mapped& mapped, const std::vector<int>& log2_sizes,
                 const Allocation* allocation) VS_EXCLUDES(mapping_mu, mu);
  // Makes its chunks. An error changes nothing.
  Status Register(const Mapped& mapped, const std::vector<int>& log2_sizes,
                  const Allocation* allocation) VS_EXCLUDES(mu);
  // The entries of as many chunks, all or none; then what they are.
  StatusOr<std::vector<ChunkIndex>> AddChunks(size_t count) VS_REQUIRES(mu);
  void FillChunks(const std::vector<ChunkIndex>& added, DevicePtr base,
                  absl::Span<const Backing> backing, absl::Span<const int> log2_sizes,
                  uint32_t allocation) VS_REQUIRES(mu);
  void Unmap(const Mapped& mapped) VS_EXCLUDES(mu);
  Status FreeSmall(DevicePtr p, const Chunk& copy) VS_EXCLUDES(mu);
  bool Busy(const Chunk& c) const;
  // Keeps the range mapped for the next of its size, or unmaps it and gives everything back; keeps
  // it as it is when it is busy or the driver refuses.
  Status TakeApart(Range range) VS_EXCLUDES(mapping_mu, mu);
  // What backed it, where it was unmapped.
  StatusOr<std::vector<Backing>> Dismantle(Range range) VS_EXCLUDES(mapping_mu, mu);
  // REQUIRES: nothing finds the chunks any more.
  void Forget(const std::vector<ChunkIndex>& chunks) VS_REQUIRES(mu);
  void Keep(const Range& range) VS_REQUIRES(mu);
  // Of a peer, wherever something is mapped; the first error.
  Status SetAccessOfAll(int device, CUmemAccess_flags flags) VS_REQUIRES(peers_mu_)
      VS_EXCLUDES(mapping_mu, mu);
  // Unmaps a kept range and releases its slots, one of 2^log2 bytes among them where log2 is not 0;
  // false when there is none.
  StatusOr<bool> GiveUpKept(int log2) VS_EXCLUDES(mu);

  // A range that was reserved, and where it has chunks: base and size of each mapping.
  struct Reservation {
    Bytes size;
    uint32_t id = 0;  // Of its allocation.
    std::map<uint64_t, Bytes> mapped = {};
  };
  using Reservations = std::map<uint64_t, Reservation>;
  // The reservation that holds p, or the end.
  Reservations::iterator ReservationOf(DevicePtr p) VS_REQUIRES(mu);
  // The first chunk at or behind an address without one, in the reservation that holds it.
  ChunkIndex NextInReservation(DevicePtr p) VS_REQUIRES(mu);
  void AllocationsChanged() VS_REQUIRES(mu);
  // Up to its last mapping; none while nothing is mapped.
  std::optional<Allocation> ExtentOf(DevicePtr p) VS_REQUIRES(mu);
  StatusOr<Detached> MakeDetachedOnce(Bytes size, const std::vector<int>& log2_sizes)
      VS_EXCLUDES(mu);
  Status MapSlots(const Detached& detached, DevicePtr at) VS_REQUIRES_SHARED(mapping_mu)
      VS_EXCLUDES(mu);
  Status MapDetachedAs(const Detached& detached, DevicePtr at, bool pinned)
      VS_EXCLUDES(mapping_mu, mu);

  const std::shared_ptr<const Driver> driver_;
  const MemoryOptions options_;
  std::atomic<Tracking> tracking_{Tracking::kNone};
  std::atomic<bool> tracking_stopped_{false};
  std::atomic<bool> host_used_{false};
  std::atomic<uint32_t> dying_count_{0};
  std::atomic<uint64_t> allocations_state_{1};
  // Allocated to drain, and not freed for a failure.
  std::vector<CUdeviceptr> drains_left_ VS_GUARDED_BY(mu);
  CUdeviceptr drain_keeper_ = 0;  // Keeps the driver's small-object page alive: drains stay cheap.

  // These synchronise themselves.
  std::unique_ptr<DevicePool> device_pool_;
  std::unique_ptr<HostPool> host_pool_;

  std::unique_ptr<Arena> arena_ VS_PT_GUARDED_BY(mu);
  std::unique_ptr<PageMap> page_map_;  // Writers hold mu.
  std::unique_ptr<ChunkTable> chunks_ VS_PT_GUARDED_BY(mu);
  std::unique_ptr<EvictionPolicy> policy_ VS_PT_GUARDED_BY(mu);
  Allocations allocations_ VS_GUARDED_BY(mu);
  Counts counts_ VS_GUARDED_BY(mu);
  std::vector<Range> quarantine_ VS_GUARDED_BY(mu);  // Until the context is drained.
  Bytes quarantined_ VS_GUARDED_BY(mu);
  std::vector<Range> dying_ VS_GUARDED_BY(mu);      // Until their chunks are idle.
  std::vector<ChunkIndex> left_ VS_GUARDED_BY(mu);  // The same: nothing backs these any more.
  std::vector<Range> stuck_ VS_GUARDED_BY(mu);  // The driver did not unmap them: tried again later.
  FreeRangeCache kept_ VS_GUARDED_BY(mu);
  Reservations reservations_ VS_GUARDED_BY(mu);

  Mutex give_up_mu_;  // Taken after small_mu_, before mapping_mu.

  Mutex peers_mu_;  // One change at a time. Taken before mapping_mu.
  Accessors accessors_ VS_GUARDED_BY(mapping_mu);
  bool changing_access_ VS_GUARDED_BY(mapping_mu) = false;  // Not everything mapped has it yet.

  // Taken before mapping_mu and mu, never after them.
  Mutex small_mu_;
  std::unique_ptr<SmallObjects> small_ VS_PT_GUARDED_BY(small_mu_);
  absl::flat_hash_set<uint64_t> small_quarantine_ VS_GUARDED_BY(small_mu_);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_MEMORY_H_
