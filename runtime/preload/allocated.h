// What the program was given of our memory, by address: what it asked for, which the runtime need
// not remember, and what else a program may ask of a pointer. The one place that says whether an
// address is the program's: memory that was freed in stream order is not, though it is still there.
//
// Threads: any.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_ALLOCATED_H_
#define VRAMSPAN_RUNTIME_PRELOAD_ALLOCATED_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "runtime/base/units.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

struct Allocated {
  CUdeviceptr base = 0;
  size_t size = 0;  // As the program asked for it.
  CUmemoryPool pool = nullptr;
  uint64_t id = 0;        // Never the same for two; none that the driver gives.
  uint64_t block_id = 0;  // Of the granules that it lies in, which small ones share; as `id` is.
  bool sync_memops = false;

  // The granules that it lies in.
  CUdeviceptr block_base() const { return base / kGranularity.value * kGranularity.value; }
  size_t block_size() const {
    return RoundUp(Bytes(base - block_base() + size), kGranularity).value;
  }
};

void AddAllocated(CUdeviceptr base, size_t size, CUmemoryPool pool = nullptr);
// Puts back what was removed.
void RestoreAllocated(const Allocated& allocated);
// By its first address; nothing where none starts there.
std::optional<Allocated> RemoveAllocated(CUdeviceptr base);
// By any address in it.
std::optional<Allocated> FindAllocated(CUdeviceptr p);
// False where the address is nobody's.
bool SetSyncMemops(CUdeviceptr p, bool on);
// Whether that was ever asked for, of any memory.
extern std::atomic<bool> any_sync_memops;
// Everything in the range, whose runtime ends.
void RemoveAllAllocated(CUdeviceptr begin, Bytes size);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_ALLOCATED_H_
