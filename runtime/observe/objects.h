// Values that stand for memory where a launch passes no address of it: the handles of texture
// objects, and encoded tensor maps, which travel by value and are known by a hash of their bytes.
//
// Bounded: of each kind the kMost named last are remembered. Threads: any; Find takes no lock.
#ifndef VRAMSPAN_RUNTIME_OBSERVE_OBJECTS_H_
#define VRAMSPAN_RUNTIME_OBSERVE_OBJECTS_H_

#include <absl/container/flat_hash_map.h>
#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>

#include "runtime/base/mutex.h"
#include "runtime/base/units.h"
#include "runtime/observe/lookup_table.h"

namespace vramspan {

class Objects {
 public:
  static constexpr size_t kMost = 1 << 16;

  struct Memory {
    DevicePtr ptr;  // 0: no such object.
    Bytes size;     // 0: only the start is known.
  };

  // `value` stands for this memory from now on.
  void Name(uint64_t value, Memory memory) VS_EXCLUDES(mu_);
  void Unname(uint64_t value) VS_EXCLUDES(mu_);

  bool empty() const { return count_.load(std::memory_order_relaxed) == 0; }
  // Has grown once Find says something else of any value.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  Memory Find(uint64_t value) const {
    const LookupTable::Value found = table_.Find(value);
    return {DevicePtr(found.first), Bytes(found.second)};
  }

 private:
  LookupTable table_;  // Written under mu_.
  std::atomic<size_t> count_{0};
  std::atomic<uint64_t> changes_{0};  // Written under mu_.
  Mutex mu_;
  std::list<uint64_t> order_ VS_GUARDED_BY(mu_);  // Named last at the end.
  absl::flat_hash_map<uint64_t, std::list<uint64_t>::iterator> places_ VS_GUARDED_BY(mu_);
};

// Encoded tensor maps, by a hash of their bytes. A kernel's parameters have many places where one
// may lie and mostly none that has, so the first word is looked at first: whether any map begins
// so.
class TensorMaps {
 public:
  void Name(const void* map, Objects::Memory memory);
  bool empty() const { return objects_.empty(); }
  uint64_t changes() const { return objects_.changes(); }
  Objects::Memory Find(const void* map) const;

 private:
  static constexpr size_t kHeads = 1 << 14;  // Bits.
  // Where the bit of what begins like `map` is.
  static size_t HeadOf(const void* map);

  Objects objects_;
  std::array<std::atomic<uint64_t>, kHeads / 64> heads_{};  // Set and never cleared.
};

// Bytes from the first to the last of a tensor of these lengths (in elements, fastest first) and
// strides (in bytes, of all dimensions but the first). 0 where they do not tell.
Bytes TensorBytes(CUtensorMapDataType type, uint32_t rank, const cuuint64_t* lengths,
                  const cuuint64_t* strides, CUtensorMapInterleave interleave);

// The linear memory of a texture; none for arrays.
Objects::Memory TextureMemory(const CUDA_RESOURCE_DESC& resource);

}  // namespace vramspan

#endif  // VRAMSPAN_RUNTIME_OBSERVE_OBJECTS_H_
