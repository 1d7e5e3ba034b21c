#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ADDRESS_MAP_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ADDRESS_MAP_H_

// Every address range that the driver knows: what cudaMalloc and its kin gave out, registered host
// memory, and reservations of address space. An address outside is pageable host memory to the
// driver. Thread-safe.

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "tools/simcuda/device.h"
#include "tools/simcuda/mutex.h"

namespace simcuda::memory {

class MemPool;
class Physical;

enum class RangeKind {
  kDevice,       // cuMemAlloc
  kPool,         // cuMemAllocAsync
  kManaged,      // cuMemAllocManaged
  kHost,         // cuMemAllocHost, cuMemHostAlloc
  kRegistered,   // cuMemHostRegister
  kReservation,  // cuMemAddressReserve
  kModule,       // a variable of a loaded module: device memory that the module owns
  kArray,        // an array; programs have no address of it
  kExternal,     // a buffer of imported memory
};

// The physical memory behind an address, of which an allocation may be a part.
struct Block {
  char* base = nullptr;
  size_t size = 0;
  uint64_t id = 0;
};

struct Range {
  char* base = nullptr;
  size_t size = 0;
  RangeKind kind = RangeKind::kDevice;
  Device* device = nullptr;  // null for host memory and reservations
  uint64_t context_id = 0;   // 0: belongs to no context
  CUcontext context = nullptr;
  unsigned flags = 0;  // of the call that made it
  std::shared_ptr<MemPool> pool;
  std::shared_ptr<Physical> imported;  // what a buffer is of
  Block block;                         // of its own where Insert finds none
  uint64_t buffer_id = 0;              // set by Insert

  bool Contains(CUdeviceptr address, size_t bytes) const {
    const auto start = reinterpret_cast<CUdeviceptr>(base);
    return address >= start && bytes <= size && address - start <= size - bytes;
  }
  bool host() const { return kind == RangeKind::kHost || kind == RangeKind::kRegistered; }
};
using RangePtr = std::shared_ptr<const Range>;

class AddressMap {
 public:
  static AddressMap& Get();

  // For buffers and blocks; never the same twice.
  uint64_t NewId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }

  // False when it overlaps a known range.
  bool Insert(Range range);
  // The range that holds the address; null when there is none.
  RangePtr Find(CUdeviceptr address) const;
  // Forgets the range of that kind which starts at the address; null when there is none.
  RangePtr Remove(CUdeviceptr base, RangeKind kind);
  // Forgets and returns all that belongs to a context.
  std::vector<RangePtr> RemoveOfContext(uint64_t context_id);

 private:
  mutable SharedMutex mutex_;
  std::map<CUdeviceptr, RangePtr> ranges_ SIMCUDA_GUARDED_BY(mutex_);
  std::atomic<uint64_t> next_id_{1};
};

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_ADDRESS_MAP_H_
