// What the program made with the driver's VMM calls and what stands for it: handles of ours, the
// reservations that came out of an arena, and what is mapped in those.
//
// A handle of ours has a value that no driver gives out. Its memory is detached (DetachedMemory)
// until it is mapped into a reservation of ours, and chunks from then on. Mapped twice, or with
// access that is not plain, it stays on the device where it is. What cannot be ours at all (a
// handle that is exported, or bound to a multicast object) becomes real: the driver's own memory,
// on the device for good, with the same contents at the same addresses.
//
// Threads: one lock guards all of it; it is held over driver calls that wait for nothing, which the
// driver serialises anyhow, and is taken after the lock of the runtimes, never before it. What may
// wait for work is done without it: the handles that it is done to are at work meanwhile, and who
// comes upon one waits for that one alone.
#ifndef VRAMSPAN_RUNTIME_PRELOAD_VMM_TABLE_H_
#define VRAMSPAN_RUNTIME_PRELOAD_VMM_TABLE_H_

#include <absl/functional/function_ref.h>
#include <absl/types/span.h>

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/api/runtime.h"
#include "runtime/base/mutex.h"
#include "runtime/preload/cuda_api.h"

namespace vramspan::preload {

struct VmmHandle {
  Runtime* runtime = nullptr;  // Null: it ended, and the memory with it.
  CUmemAllocationProp properties{};
  size_t size = 0;
  int references = 1;                      // The program's.
  std::optional<DetachedMemory> detached;  // While it is not mapped.
  bool used = false;                       // Was mapped: it may have contents.
  std::vector<CUdeviceptr> mapped;         // Where it is mapped as chunks,
  bool held = false;                       // which stay where they are, on the device.
  CUmemGenericAllocationHandle real = 0;   // The driver's, where it is real; else 0.
  bool at_work = false;                    // A thread is at it without the lock.
};

struct VmmMapping {
  size_t size = 0;
  CUmemGenericAllocationHandle handle = 0;  // Of ours; 0: the driver knows what is mapped.
  bool access = false;                      // The program has asked for access.
  // And for what is not plain, so that the driver knows who has any. By kind of location and id.
  std::map<std::pair<int, int>, CUmemAccessDesc> others = {};
};

struct VmmReservation {
  Runtime* runtime = nullptr;  // Null: it ended, and the addresses with it.
  size_t size = 0;
  std::map<CUdeviceptr, VmmMapping> mappings = {};
};

struct VmmTable {
  Mutex mu;
  CondVar changed;  // A handle is at work no longer.
  // Entries stay where they are while others come and go.
  std::unordered_map<CUmemGenericAllocationHandle, VmmHandle> handles VS_GUARDED_BY(mu);
  std::map<CUdeviceptr, VmmReservation> reservations VS_GUARDED_BY(mu);
  uint64_t next VS_GUARDED_BY(mu) = 1;

  static VmmTable& Get();
  // Without the lock: whether the value is one of a handle of ours.
  static bool IsOurs(CUmemGenericAllocationHandle handle);

  CUmemGenericAllocationHandle Add(VmmHandle handle) VS_REQUIRES(mu);
  // Null for none.
  VmmHandle* Find(CUmemGenericAllocationHandle handle) VS_REQUIRES(mu);
  // The same, once it is not at work. What else was looked up before may have changed.
  VmmHandle* FindIdle(CUmemGenericAllocationHandle handle) VS_REQUIRES(mu);
  VmmReservation* ReservationOf(CUdeviceptr p) VS_REQUIRES(mu);
  // The mapping that holds p, and where it begins; null for none and for those of an ended runtime.
  VmmMapping* MappingOf(CUdeviceptr p, CUdeviceptr* base) VS_REQUIRES(mu);
  // Whether [p, p + size) lies in one reservation and cuts no mapping of it in two.
  bool CutsNoMapping(CUdeviceptr p, size_t size) VS_REQUIRES(mu);
  // Whether whole mappings cover [p, p + size) without a gap.
  bool WholeMappings(CUdeviceptr p, size_t size) VS_REQUIRES(mu);

  // Lets go of a handle that the program has released and that is mapped nowhere.
  void DropIfUnused(CUmemGenericAllocationHandle handle) VS_REQUIRES(mu);
  // Calls `body` without the lock, with the handles at work. They stay, and so do their runtime and
  // the reservations that they are mapped in; what else was looked up before may have changed.
  // REQUIRES: none is at work.
  Status Aside(absl::Span<const CUmemGenericAllocationHandle> which,
               absl::FunctionRef<Status()> body) VS_REQUIRES(mu);
  // Keeps what is mapped of the handle where it is, on the device. As Aside.
  Status Hold(CUmemGenericAllocationHandle handle, const char* why) VS_REQUIRES(mu);
  // Where it need not stay any longer.
  void LetGo(VmmHandle* h) VS_REQUIRES(mu);
  // Makes the handle real, what is mapped of it included: waits for work that may use that, and for
  // no other. As Aside.
  CUresult Realise(CUmemGenericAllocationHandle handle, const char* why) VS_REQUIRES(mu);
};

// The runtime ends. Its memory is gone, and what the program still has of it means nothing.
void ForgetVmmOf(Runtime* runtime);

}  // namespace vramspan::preload

#endif  // VRAMSPAN_RUNTIME_PRELOAD_VMM_TABLE_H_
