#ifndef VRAMSPAN_TOOLS_SIMCUDA_MEMORY_BLOCK_HEAP_H_
#define VRAMSPAN_TOOLS_SIMCUDA_MEMORY_BLOCK_HEAP_H_

// Device memory behind plain pointers, charged to an account. Requests of up to 1 MiB share 2 MiB
// blocks; larger ones take whole multiples of 2 MiB for themselves. Empty blocks are given back,
// down to `keep` bytes of them (what a memory pool holds). Thread-safe.

#include <cstddef>
#include <cstdint>
#include <map>

#include "tools/simcuda/device.h"
#include "tools/simcuda/memory/address_map.h"
#include "tools/simcuda/mutex.h"

namespace simcuda::memory {

class BlockHeap {
 public:
  static constexpr size_t kAlignment = 512;
  static constexpr size_t kLargestShared = size_t{1} << 20;

  explicit BlockHeap(MemoryAccount& account) : account_(account) {}
  ~BlockHeap();

  // Null when the account has no room or the system no memory.
  char* Allocate(size_t size);
  void Free(char* address);
  // What an address in use lies in.
  Block BlockOf(char* address) const;

  // Gives empty blocks back until at most `keep` bytes are reserved.
  void Trim(size_t keep);
  // Empty blocks are kept as long as no more than this is reserved.
  void set_keep(size_t keep);

  size_t reserved() const;
  size_t used() const;
  size_t reserved_high() const;
  size_t used_high() const;
  void ResetHighs(bool reserved, bool used);

 private:
  struct Piece {
    size_t size;
    uint64_t id;
    size_t used = 0;
    std::map<char*, size_t> holes;  // address to size
  };

  Piece* NewBlock(size_t size, char** base) SIMCUDA_REQUIRES(mutex_);
  char* Carve(char* base, Piece& block, size_t size) SIMCUDA_REQUIRES(mutex_);
  void TrimLocked(size_t keep) SIMCUDA_REQUIRES(mutex_);

  MemoryAccount& account_;
  mutable Mutex mutex_;
  std::map<char*, Piece> blocks_ SIMCUDA_GUARDED_BY(mutex_);        // by base
  std::map<char*, size_t> allocations_ SIMCUDA_GUARDED_BY(mutex_);  // address to size
  char* current_ SIMCUDA_GUARDED_BY(mutex_) = nullptr;              // the block tried first
  size_t keep_ SIMCUDA_GUARDED_BY(mutex_) = 0;
  size_t reserved_ SIMCUDA_GUARDED_BY(mutex_) = 0;
  size_t used_ SIMCUDA_GUARDED_BY(mutex_) = 0;
  size_t reserved_high_ SIMCUDA_GUARDED_BY(mutex_) = 0;
  size_t used_high_ SIMCUDA_GUARDED_BY(mutex_) = 0;
};

}  // namespace simcuda::memory

#endif  // VRAMSPAN_TOOLS_SIMCUDA_MEMORY_BLOCK_HEAP_H_
