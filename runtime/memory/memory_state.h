// What there is of one device's memory: its chunks and freed ranges under the memory lock, the
// pools that back them, and who may use it unseen. The parts of the memory act on this; what they
// do beside the lock is theirs.
//
// Locks are taken in this order: SmallMemory's; that of Dismantler for one range at a time, or that
// of Peers for one change at a time; Peers::mapping_mu; `mu`.
//
// Threads: any; functions that need `mu` say so. Ownership: Memory is one, and owns the parts.
#ifndef VRAMSPAN_RUNTIME_MEMORY_MEMORY_STATE_H_
#define VRAMSPAN_RUNTIME_MEMORY_MEMORY_STATE_H_

#include <absl/functional/function_ref.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "runtime/backing/device_pool.h"
#include "runtime/backing/host_pool.h"
#include "runtime/base/mutex.h"
#include "runtime/driver/driver.h"
#include "runtime/memory/chunk_map.h"
#include "runtime/memory/freed_ranges.h"
#include "runtime/memory/mappings.h"
#include "runtime/memory/run_listener.h"

namespace vramspan {

struct MemoryOptions {
  int ordinal = 0;
  CUmemLocation host_place{CU_MEM_LOCATION_TYPE_HOST_NUMA, {}};
  CUcontext context = nullptr;
  Bytes device_budget;
  Bytes host_budget;
  // What the device budget may well become, where it begins with less: chunks and pools are sized
  // for that.
  Bytes expected_budget;
  Bytes arena = GiB(4096);
  int chunk_log2 = 0;               // 0: chosen per allocation.
  bool use_host = true;             // False: an allocation that does not fit on the device fails.
  bool traced = false;              // Every use of its memory is seen, from the start.
  bool announce = true;             // One line on stderr when data first go to host memory,
  std::string shortage_note;        // which ends in this.
  RunListener* listener = nullptr;  // Outlives the memory.
  DeviceRoom* room = nullptr;       // As of DevicePoolOptions.
};

class MemoryState {
 public:
  MemoryState(std::shared_ptr<const Driver> driver, const MemoryOptions& options,
              std::unique_ptr<EvictionPolicy> policy);
  MemoryState(const MemoryState&) = delete;
  MemoryState& operator=(const MemoryState&) = delete;

  // Takes the addresses and makes the pools. `reclaim`: DevicePoolOptions says what it does.
  Status Open(std::function<StatusOr<bool>(int log2)> reclaim) VS_REQUIRES(mu);
  // Unmaps all chunks and releases what backs them. REQUIRES: no GPU work uses them, nothing is
  // moving, and the context is current.
  void UnmapChunks() VS_REQUIRES(mu);
  // REQUIRES: nothing of them is mapped any more.
  void ClosePools() VS_REQUIRES(mu);

  const Driver& driver() const { return *driver_; }
  const std::shared_ptr<const Driver>& shared_driver() const { return driver_; }
  const MemoryOptions& options() const { return options_; }
  // These synchronise themselves.
  DevicePool& device_pool() { return *device_pool_; }
  HostPool& host_pool() { return *host_pool_; }
  // By which things are sized once and for all.
  Bytes ExpectedBudget() const {
    return std::max(device_pool_->budget(), options_.expected_budget);
  }

  // --- under the lock ---
  // Guards chunks, allocations and the policy, here and in the mover.
  Mutex mu;
  ChunkMap& map() VS_REQUIRES(mu) { return map_; }
  FreedRanges& freed_ranges() VS_REQUIRES(mu) { return freed_; }
  Mappings& mappings() VS_REQUIRES(mu) { return mappings_; }
  ChunkTable& chunks() VS_REQUIRES(mu) { return map_.chunks(); }
  EvictionPolicy& policy() VS_REQUIRES(mu) { return map_.policy(); }
  // Pin counts by chunk.
  absl::flat_hash_map<uint32_t, uint32_t>& pins() VS_REQUIRES(mu) { return map_.pins(); }
  // Gives up the host copy of a chunk on the device, if there is one.
  void DropHostCopy(ChunkIndex index) VS_REQUIRES(mu) { map_.DropHostCopy(index); }
  // ChunkMap::ForEach.
  bool ForEachChunk(DevicePtr p, Bytes size, absl::FunctionRef<void(ChunkIndex, Chunk&)> visit)
      VS_REQUIRES(mu) {
    return map_.ForEach(p, size, visit);
  }

  // --- without it ---
  const PageMap& page_map() const VS_NO_THREAD_SAFETY_ANALYSIS { return map_.page_map(); }
  // Another value, that no memory had before, once an allocation begins or ends to be found, or has
  // another size, or a chunk of packed objects goes. Those themselves change nothing. Never 0.
  uint64_t allocations_state() const VS_NO_THREAD_SAFETY_ANALYSIS {
    return map_.allocations_state();
  }
  // A host chunk that nobody is to touch soon need not be mapped: most of what a remap costs is the
  // page table of host memory (docs/findings/0003). Who is to touch it has it shown first.
  bool any_unmapped() const VS_NO_THREAD_SAFETY_ANALYSIS { return map_.chunks().unmapped() != 0; }
  // Freed memory waits for its chunks to be idle.
  bool has_dying() const VS_NO_THREAD_SAFETY_ANALYSIS { return freed_.has_dying(); }

  // --- whose work is known ---
  void SetTracking(Tracking tracking) { tracking_.store(tracking, std::memory_order_release); }
  Tracking tracking() const {
    if (tracking_stopped_.load(std::memory_order_acquire)) return Tracking::kNone;
    return tracking_.load(std::memory_order_acquire);
  }
  // Work is not seen any more: from here on nothing is known of anybody's users.
  void StopTracking() { tracking_stopped_.store(true, std::memory_order_release); }
  // True when every work that may touch the chunk is counted in it.
  bool UsersKnown(const Chunk& c) const { return vramspan::UsersKnown(c, tracking()); }
  // Work that is known may touch it, or some that is not.
  bool Busy(const Chunk& c) const;
  // Declared work of unknown ranges that has not finished: while there is any, nothing that is
  // freed is known to be out of use.
  std::atomic<uint32_t> unknown_work{0};

 private:
  const std::shared_ptr<const Driver> driver_;
  const MemoryOptions options_;
  std::atomic<Tracking> tracking_{Tracking::kNone};
  std::atomic<bool> tracking_stopped_{false};
  std::unique_ptr<DevicePool> device_pool_;
  std::unique_ptr<HostPool> host_pool_;
  ChunkMap map_ VS_GUARDED_BY(mu);
  FreedRanges freed_ VS_GUARDED_BY(mu);
  Mappings mappings_ VS_GUARDED_BY(mu);
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_MEMORY_STATE_H_
