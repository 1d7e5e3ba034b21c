// What the scenarios of the test program share.
#ifndef VRAMSPAN_TESTS_PRELOAD_PROGRAM_SCENARIOS_H_
#define VRAMSPAN_TESTS_PRELOAD_PROGRAM_SCENARIOS_H_

#include <cuda.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tests/preload/program_api.h"

[[noreturn]] void Fail(const std::string& what);

#define CHECK_OK(call)                                                                    \
  do {                                                                                    \
    const CUresult check_result = (call);                                                 \
    if (check_result != CUDA_SUCCESS) {                                                   \
      Fail(std::string(#call) + " is " + std::to_string(static_cast<int>(check_result))); \
    }                                                                                     \
  } while (false)
#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) Fail(std::string("not so: ") + #condition); \
  } while (false)

struct Program {
  Api api;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction fill_hash = nullptr, add_constant = nullptr;
  CUstream stream = nullptr;

  // cuInit, and the primary context of device 0 made current.
  void Start();
  // REQUIRES: the context is current.
  void LoadKernels();
  void Launch(CUfunction kernel, CUdeviceptr words, size_t count, unsigned long long value);
  // Fills the buffers with words of their own, adds to them in rounds, and checks every word.
  void Work(const std::vector<CUdeviceptr>& buffers, size_t bytes, int rounds);
  // The same with buffers of twice the device's memory.
  void WorkBeyondMemory(size_t bytes);
  // What fill_hash writes.
  static unsigned long long Word(size_t index, unsigned long long seed);
};

// Whether dlsym finds the name in the global scope; a null comes with an error for dlerror.
bool HasGlobal(const char* name);

// Prints what every hooked call of memory answers to arguments of all kinds, out-parameters
// included (program_answers.cc).
void Answers(Program* p);
// Device memory that cannot be had leaves what it would be answered in alone. Not so with the
// driver alone.
void LeavesUntouched(Program* p);
// What lines on its standard input say (program_lease.cc).
void DoAsTold(Program* p);
// Plain memory in captures of all modes; a little of it where there is no more; and frees from
// static objects (program_edges.cc).
void AllocateInCaptures(Program* p);
void LittleIsLeft(Program* p);
void FreeAtTheEnd(Program* p);
// What a program asks about pointers, and about how much memory there is (program_queries.cc).
void AskQueries(Program* p);
void AskCapacity(Program* p);
void TakeWhatIsFree(Program* p);
void AskNvml(Program* p);
// Memory whose copies and fills are to be done when they return, by the calls for either kind of
// default stream (program_sync.cc).
void AskToWait(Program* p, bool per_thread);
// Stream-ordered memory, by the calls for either kind of default stream (program_pools.cc).
void AskPools(Program* p, bool per_thread);
void ChurnPools(Program* p, bool per_thread);
void PoolsKeepOrder(Program* p, bool per_thread);
void OwnPool(Program* p, bool per_thread);  // Needs a second device.
// The same while the device is short of memory, in 16 MiB, by case (program_lifetimes.cc).
void FreeInStreamOrder(Program* p, const std::string& name);
// PyTorch's allocator in the same, by case (program_torch.cc).
void ReportBlocks(Program* p, const std::string& name);
// What it says of its memory to the vramspan that it was started with (program_process.cc).
void SayWhatIsWanted(Program* p);
// What a pool of a program does that grows by cuMemMap, in more memory than the device has
// (program_vmm.cc).
void Expandable(Program* p);
// Executable graphs of twice the device's memory, launched and changed (program_graphs.cc).
void LaunchLargeGraphs(Program* p);
void LaunchAsMemoryGetsShort(Program* p);
void LaunchOneGraphOften(Program* p);
void LaunchAcrossContexts(Program* p);
// What the VMM calls answer to uses of all kinds, contents included.
void VmmAnswers(Program* p);
// Flags and kinds of locations that a driver to come might know (SIMCUDA_NEWER).
void VmmNewer(Program* p);
// What the driver lets pass and vramspan refuses.
void VmmRefused(Program* p);
// Memory of its own VMM calls that is shared, mapped twice, or outlives what it came from.
void VmmShared(Program* p);
// Memory that is mapped "twice" or "exported" while another thread launches kernels on it; and what
// is mapped and unmapped beside a kernel that waits for the host and uses other memory, the device
// having room for all or not (program_vmm_beside.cc).
void VmmBesideLaunches(Program* p, const std::string& what);
void VmmBesideWaiting(Program* p);
void VmmBesideWaitingWhileShort(Program* p);
// Memory that vramspan makes room for, made while the device is full of its own: a "flat", "deep"
// or "mipmapped" array, a "large" one that needs nearly all the room there is, one of "too_much",
// "external" memory, and its "import" alone, memory of its own that it "exported" or "mapped" to
// be; and what is merely "passed_by", what cannot be "handed_out", what no "multicast" object takes
// (program_foreign.cc).
void UseForeign(Program* p, const std::string& kind);
// Two processes and legacy IPC handles (program_ipc.cc).
void ShareByIpc(Program* p);
void IpcWithoutRoom(Program* p);
void IpcRefused(Program* p);
// An exporter that closes what it does not know, where it may not have a table of descriptors of
// its own too, and openers beside what could hold them up (program_ipc_peers.cc).
void IpcWhereAllIsClosed(Program* p, bool shared_table);
void IpcBesideTheMute(Program* p);
void IpcBesideOneThatWaits(Program* p);
// Two processes that signal each other in memory that they share (program_ipc_reduce.cc).
void ReduceByIpc(Program* p);
// Host memory that the program makes by the VMM calls, memory that it gives away and takes again at
// its address, and memory that it registers or hands out, beside 64 MiB that are worked on
// (program_beside.cc).
void UseOwnHostMemory(Program* p);
void SleepAndWake(Program* p);
void RegisterAndHandOut(Program* p);
// OptiX is only "asked" for, in a "newer" version too; or it works on the memory, from the "first"
// allocation on, from a "late" one on, or once memory is "short" (program_optix.cc).
void UseOptix(Program* p, const std::string& when);
// A library that has written into the "driver"'s own functions of allocation, or into what lookups
// "answered", "_before" the program called any or "_after" (program_patched.cc). x86-64 alone.
void PatchAllocation(Program* p, const std::string& how);
// Another tool asks for CUPTI in the middle of it all: "asks" for it by dlsym, "binds" to it, or
// "finalizes" it first (program_tool.cc). Says on stderr how often it launched.
void ToolAsksForCupti(Program* p, const std::string& how);
// Calls that submit work or say what work goes by, one by one; what each is to be told of is
// printed (program_calls.h). EncodeWide needs a device of compute capability 10; after BindTexture
// nothing is known of any kernel, so it makes one call of that name.
void MakeCalls(Program* p);
void EncodeWide(Program* p);
void BindTexture(Program* p, const std::string& name);
// Calls that may take device memory, each refused once while the device is full
// (program_rescues.cc).
void RescueEach(Program* p);
// Two devices whose memory each other's copies and kernels use, access being enabled "before" it is
// allocated, "after", or "never"; contexts that end while they have it; and access that cannot
// be given (program_peers.cc).
// Needs a second device.
void UsePeers(Program* p, const std::string& when);
void CopyFromAfar(Program* p);
void CopyApart(Program* p);  // Needs devices that do not reach each other.
void PeersDisabled(Program* p);
void PeersInFlight(Program* p);
void PeersEnd(Program* p);
void PeersRefused(Program* p);
void PoolIsOpened(Program* p);
// Children of fork in all ways, and threads that are cancelled in calls, beside others that launch
// (program_ends.cc).
void ChildrenOfFork(Program* p);
void ThreadsAreCancelled(Program* p);
// A call of that name that has the driver look up memory which has no mapping at the time
// (program_lookups.cc). Needs VRAMSPAN_OVERLAP=all, 16 MiB for vramspan, and more for its copies.
void LookUp(Program* p, const std::string& name);
// By the call of that name: contexts that end, and the next one begins; streams that are gone. And
// pools, trimmed by every call that waits (program_contexts.cc).
void EndContexts(Program* p, const std::string& name);
void EndStreams(Program* p, const std::string& name);
void PoolsAreTrimmedBySynchronising(Program* p);
// Looks up everything that the simulated driver has, and everything that is to be hooked; with
// another driver only the latter (program_table.cc).
void CheckTable(Program* p);
// The same with the driver of old_driver.cc, which has next to nothing.
void CheckTableOfOldDriver(Program*);

#endif  // VRAMSPAN_TESTS_PRELOAD_PROGRAM_SCENARIOS_H_
