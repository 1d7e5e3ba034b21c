// Where the chunks of a memory lie, what they belong to, and how much there is of it: the chunk
// table, the addresses, the allocations, and the policy that is told of all chunks on the device.
//
// Pure bookkeeping. Threads: not safe; the caller holds the memory lock where nothing else is said.
#ifndef VRAMSPAN_RUNTIME_MEMORY_CHUNK_MAP_H_
#define VRAMSPAN_RUNTIME_MEMORY_CHUNK_MAP_H_

#include <absl/container/flat_hash_map.h>
#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/backing/host_pool.h"
#include "runtime/memory/detached_memory.h"
#include "runtime/memory/reservations.h"
#include "runtime/placement/policy.h"
#include "runtime/space/allocations.h"
#include "runtime/space/arena.h"
#include "runtime/space/chunk_table.h"
#include "runtime/space/page_map.h"

namespace vramspan {

struct MemoryCounts {
  uint64_t allocations = 0;
  Bytes allocated, peak_allocated;
  Bytes charged;  // What the driver would take for it as plain device memory: whole granules.
  uint64_t chunks = 0;
};

class ChunkMap {
 public:
  // `traced`: every use of allocations is seen.
  ChunkMap(std::unique_ptr<EvictionPolicy> policy, bool traced)
      : policy_(std::move(policy)), traced_(traced) {}
  // Takes the addresses. Nothing else may be called before.
  Status Open(const std::shared_ptr<const Driver>& driver, Bytes arena);
  bool open() const { return chunks_ != nullptr; }
  // Host copies go back to `pool`, which outlives them.
  void GiveHostCopiesTo(HostPool* pool) { host_pool_ = pool; }

  Arena& arena() { return *arena_; }
  PageMap& page_map() { return *page_map_; }  // Of any thread that only reads.
  const PageMap& page_map() const { return *page_map_; }
  ChunkTable& chunks() { return *chunks_; }
  const ChunkTable& chunks() const { return *chunks_; }
  EvictionPolicy& policy() { return *policy_; }
  Reservations& reservations() { return reservations_; }
  absl::flat_hash_map<uint32_t, uint32_t>& pins() { return pins_; }

  // --- allocations ---
  uint32_t AddAllocation(const Allocation& allocation) { return allocations_.Add(allocation); }
  // Errors are those of Allocations::Remove.
  StatusOr<Allocation> RemoveAllocation(DevicePtr base, uint32_t containing) {
    return allocations_.Remove(base, containing);
  }
  // Of a chunk of ours; null for one of packed objects.
  const Allocation* AllocationOf(const Chunk& c) const { return allocations_.Find(c.allocation); }
  // One begins or ends to be found, or has another size.
  void AllocationsChanged();
  uint64_t allocations_state() const {  // Of any thread.
    return allocations_state_.load(std::memory_order_acquire);
  }

  // --- chunks come and go ---
  // The entries of as many chunks, all or none.
  StatusOr<std::vector<ChunkIndex>> Add(size_t count);
  // What they are. `tracked`: no work from before recording can touch them.
  void Fill(const std::vector<ChunkIndex>& added, DevicePtr base, absl::Span<const Backing> backing,
            uint32_t allocation, bool tracked);
  // REQUIRES: nothing finds the chunks any more.
  void Forget(const std::vector<ChunkIndex>& chunks);
  // Gives up the host copy of a chunk on the device, if there is one.
  void DropHostCopy(ChunkIndex index);
  // The slot of the copy of some chunk of 2^log2 bytes, which has none any more; none without any.
  std::optional<uint32_t> TakeHostCopy(int log2);

  // Calls `visit` for each chunk that [p, p + size) touches, clipped to the allocation in which it
  // starts. Returns false, without a call, when there is none in a live allocation of ours.
  bool ForEach(DevicePtr p, Bytes size, absl::FunctionRef<void(ChunkIndex, Chunk&)> visit);

  // --- how much there is ---
  void CountAllocation(Bytes size, Bytes charged);
  void CountFree(Bytes size, Bytes charged);
  const MemoryCounts& counts() const { return counts_; }

 private:
  // The chunk at `p`; where there is none, the first behind it in the reservation that holds `p`.
  ChunkIndex FindFrom(DevicePtr p) const;

  std::unique_ptr<Arena> arena_;
  std::unique_ptr<PageMap> page_map_;
  std::unique_ptr<ChunkTable> chunks_;
  const std::unique_ptr<EvictionPolicy> policy_;
  const bool traced_;
  HostPool* host_pool_ = nullptr;
  Allocations allocations_;
  Reservations reservations_;
  absl::flat_hash_map<uint32_t, uint32_t> pins_;  // Pin counts by chunk.
  MemoryCounts counts_;
  std::atomic<uint64_t> allocations_state_{1};
};

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_MEMORY_CHUNK_MAP_H_
