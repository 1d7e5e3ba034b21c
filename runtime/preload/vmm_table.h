// What the program made with the driver's VMM calls and what stands for it: handles of ours, the
// reservations that came out of an arena, and what is mapped in those.
//
// A handle of ours has a value that no driver gives out. Its memory is loose (Memory::Loose) until
// it is mapped into a reservation of ours, and chunks from then on. What cannot be that (a handle
// that is exported or mapped twice, access that is not plain) becomes real: the driver's own
// memory, on the device for good, with the same contents at the same address.
//
// Threads: one lock guards all of it; it is held over driver calls, which the driver serialises
// anyhow, and is taken after the lock of the runtimes, never before it.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_VMM_TABLE_H_
#define VRAMSPAN_RUNTIME_PRELOAD_VMM_TABLE_H_

#include <absl/container/flat_hash_map.h>

#include <map>
#include <optional>

#include "runtime/api/runtime.h"
#include "runtime/base/mutex.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

struct VmmHandle {
  Runtime* runtime = nullptr;  // Null: it ended, and the memory with it.
  CUmemAllocationProp properties{};
  size_t size = 0;
  int references = 1;                     // The program's.
  std::optional<Memory::Loose> loose;     // While it is not mapped.
  bool used = false;                      // Was mapped: it may have contents.
  CUdeviceptr mapped = 0;                 // Where it is mapped as chunks.
  CUmemGenericAllocationHandle real = 0;  // The driver's, where it is real; else 0.
};

struct VmmMapping {
  size_t size = 0;
  CUmemGenericAllocationHandle handle = 0;  // Of ours; 0: the driver knows what is mapped.
  bool access = false;                      // The program has asked for access.
};

struct VmmReservation {
  Runtime* runtime = nullptr;  // Null: it ended, and the addresses with it.
  size_t size = 0;
  std::map<CUdeviceptr, VmmMapping> mappings = {};
};

struct VmmTable {
  Mutex mu;
  absl::flat_hash_map<CUmemGenericAllocationHandle, VmmHandle> handles VS_GUARDED_BY(mu);
  std::map<CUdeviceptr, VmmReservation> reservations VS_GUARDED_BY(mu);
  uint64_t next VS_GUARDED_BY(mu) = 1;

  static VmmTable& Get();
  // Without the lock: whether the value is one of a handle of ours.
  static bool IsOurs(CUmemGenericAllocationHandle handle);

  CUmemGenericAllocationHandle Add(VmmHandle handle) VS_REQUIRES(mu);
  // Null for none.
  VmmHandle* Find(CUmemGenericAllocationHandle handle) VS_REQUIRES(mu);
  VmmReservation* ReservationOf(CUdeviceptr p) VS_REQUIRES(mu);
  // The mapping that holds p, and where it begins; null for none and for those of an ended runtime.
  VmmMapping* MappingOf(CUdeviceptr p, CUdeviceptr* base) VS_REQUIRES(mu);
  // Whether [p, p + size) lies in one reservation and cuts no mapping of it in two.
  bool CutsNoMapping(CUdeviceptr p, size_t size) VS_REQUIRES(mu);
  // Whether whole mappings cover [p, p + size) without a gap.
  bool WholeMappings(CUdeviceptr p, size_t size) VS_REQUIRES(mu);

  // Lets go of a handle that the program has released and that is mapped nowhere.
  void DropIfUnused(CUmemGenericAllocationHandle handle) VS_REQUIRES(mu);
  // Makes the handle real, what is mapped of it included. Waits for the context's work where that
  // moves contents: work that other threads submit meanwhile must not use the memory.
  CUresult Realise(CUmemGenericAllocationHandle handle, const char* why) VS_REQUIRES(mu);
};

// The runtime ends. Its memory is gone, and what the program still has of it means nothing.
void ForgetVmmOf(Runtime* runtime);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_VMM_TABLE_H_
