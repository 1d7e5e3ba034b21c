// A program that knows nothing of vramspan: program ROUTE SCENARIO[:CALL]. Prints "ok" and ends
// with 0 where all results are right; else a line says what is not.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/preload/program_calls.h"
#include "tests/preload/program_scenarios.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;

// Twice the device's memory, filled, worked on in rounds, and checked word by word.
void Doubled(Program* p) {
  p->Start();
  p->WorkBeyondMemory(kBytes);
}

// The calls are the driver's, which may write to what it answers in even where it refuses.
void BeforeInit(Program* p) {
  CUdeviceptr memory = 7;
  size_t pitch = 7;
  CUcontext context = nullptr;
  CHECK(p->api.MemAlloc(&memory, 64) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(p->api.MemAllocPitch(&memory, &pitch, 64, 64, 4) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(p->api.MemFree(memory) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(p->api.PrimaryRetain(&context, 0) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(p->api.MemcpyHtoD(memory, &pitch, sizeof(pitch)) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(p->api.Init(1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(p->api.MemAlloc(&memory, 64) == CUDA_ERROR_NOT_INITIALIZED);
  Doubled(p);
}

int StatusOf(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return status;
}

// The child is the one that uses CUDA; then the parent does.
void ForkBefore(Program* p) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    Doubled(p);
    std::exit(0);
  }
  CHECK(StatusOf(child) == 0);
  Doubled(p);
}

// CUDA does not survive this, but the child may end in peace and the parent goes on.
void ForkAfter(Program* p, bool call_handlers) {
  p->Start();
  CUdeviceptr memory = 0;
  CHECK_OK(p->api.MemAlloc(&memory, kBytes));
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  const pid_t child = fork();
  if (child == 0) {
    // More than the driver itself has, whatever it says to a child.
    CUdeviceptr more = 0;
    if (p->api.MemAlloc(&more, 2 * total) == CUDA_SUCCESS) _exit(1);
    if (call_handlers) std::exit(0);
    _exit(0);
  }
  CHECK(StatusOf(child) == 0);
  CHECK_OK(p->api.MemFree(memory));
  p->WorkBeyondMemory(kBytes);
}

void Exec(Program*) {
  if (std::getenv("PROGRAM_AGAIN") != nullptr) Fail("executed once too often");
  setenv("PROGRAM_AGAIN", "1", 1);
  execl("/proc/self/exe", "program", "proc2", "doubled", nullptr);
  Fail("cannot execute itself");
}

// Contexts come and go, and what was allocated in them goes too.
void Contexts(Program* p) {
  CHECK_OK(p->api.Init(0));
  CHECK_OK(p->api.DeviceGet(&p->device, 0));
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(p->api.CtxCreate(&p->context, nullptr, 0, p->device));
    p->LoadKernels();
    CUdeviceptr left = 0;
    CHECK_OK(p->api.MemAlloc(&left, kBytes));
    p->WorkBeyondMemory(kBytes);
    CHECK_OK(p->api.CtxDestroy(p->context));
  }
  for (int round = 0; round < 2; ++round) {
    CHECK_OK(p->api.PrimaryRetain(&p->context, p->device));
    CHECK_OK(p->api.CtxSetCurrent(p->context));
    p->LoadKernels();
    CUdeviceptr left = 0;
    CHECK_OK(p->api.MemAlloc(&left, kBytes));
    p->WorkBeyondMemory(kBytes);
    if (round == 0) CHECK_OK(p->api.PrimaryReset(p->device));
    CHECK_OK(p->api.PrimaryRelease(p->device));
  }
}

// Memory of the second context of a device is the driver's, and both are right.
void TwoContexts(Program* p) {
  p->Start();
  CUdeviceptr first = 0, second = 0;
  CHECK_OK(p->api.MemAlloc(&first, kBytes));
  CUcontext other = nullptr;
  CHECK_OK(p->api.CtxCreate(&other, nullptr, 0, p->device));
  CHECK_OK(p->api.MemAlloc(&second, kBytes));
  unsigned long long value = 42, back = 0;
  CHECK_OK(p->api.MemcpyHtoD(second, &value, sizeof(value)));
  CHECK_OK(p->api.MemcpyDtoH(&back, second, sizeof(back)));
  CHECK(back == 42);
  CHECK_OK(p->api.MemFree(second));
  CHECK_OK(p->api.CtxDestroy(other));
  CHECK_OK(p->api.CtxSetCurrent(p->context));
  CHECK_OK(p->api.MemFree(first));
  p->WorkBeyondMemory(kBytes);
}

// Another context reads and writes memory of the first, half of it while that is at work on the
// other half.
void CopiesBetweenContexts(Program* p) {
  p->Start();
  constexpr size_t kWords = kBytes / sizeof(unsigned long long);
  std::vector<CUdeviceptr> copied(10), busy(10);
  for (std::vector<CUdeviceptr>* set : {&copied, &busy}) {
    for (CUdeviceptr& m : *set) CHECK_OK(p->api.MemAlloc(&m, kBytes));
  }
  CUcontext other = nullptr;
  CHECK_OK(p->api.CtxCreate(&other, nullptr, 0, p->device));
  CUdeviceptr mine = 0;
  CHECK_OK(p->api.MemAlloc(&mine, kBytes));
  CUstream stream = nullptr;
  CHECK_OK(p->api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const auto copy = GET(cuMemcpyPeerAsync, "cuMemcpyPeerAsync");
  CHECK_OK(p->api.CtxSetCurrent(p->context));
  for (size_t i = 0; i < copied.size(); ++i) {
    p->Launch(p->fill_hash, copied[i], kWords, i);
    p->Launch(p->fill_hash, busy[i], kWords, i);
  }
  std::vector<unsigned long long> words(kWords);
  for (unsigned long long round = 0; round < 4; ++round) {
    for (const CUdeviceptr m : copied) p->Launch(p->add_constant, m, kWords, 1);
    CHECK_OK(p->api.StreamSynchronize(p->stream));
    for (size_t i = 0; i < copied.size(); ++i) {
      for (const CUdeviceptr m : busy) p->Launch(p->add_constant, m, kWords, 1);
      CHECK_OK(p->api.CtxSetCurrent(other));
      // Again and again: so that it lasts.
      for (int k = 0; k < 20; ++k) {
        CHECK_OK(copy(mine, other, copied[i], p->context, kBytes, stream));
      }
      CHECK_OK(p->api.StreamSynchronize(stream));
      CHECK_OK(p->api.MemcpyDtoH(words.data(), mine, kBytes));
      for (size_t w = 0; w < kWords; ++w) {
        CHECK(words[w] == Program::Word(w, i) + 3 * round + 1);
        words[w] += 2;
      }
      CHECK_OK(p->api.MemcpyHtoD(mine, words.data(), kBytes));
      CHECK_OK(copy(copied[i], p->context, mine, other, kBytes, stream));
      CHECK_OK(p->api.StreamSynchronize(stream));
      CHECK_OK(p->api.CtxSetCurrent(p->context));
    }
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  }
  for (size_t i = 0; i < busy.size(); ++i) {
    CHECK_OK(p->api.MemcpyDtoH(words.data(), busy[i], kBytes));
    for (size_t w = 0; w < kWords; ++w) CHECK(words[w] == Program::Word(w, i) + 4 * copied.size());
  }
  CHECK_OK(p->api.CtxDestroy(other));
  CHECK_OK(p->api.CtxSetCurrent(p->context));
}

void Threads(Program* p) {
  p->Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([p] {
      Program mine = *p;
      CHECK_OK(mine.api.CtxSetCurrent(mine.context));
      CHECK_OK(mine.api.StreamCreate(&mine.stream, CU_STREAM_NON_BLOCKING));
      mine.WorkBeyondMemory(kBytes / 2);
      CHECK_OK(mine.api.StreamDestroy(mine.stream));
    });
  }
  for (std::thread& t : threads) t.join();
}

// cuMemFree waits for work that does not even touch what is freed.
void FreeWaits(Program* p) {
  p->Start();
  constexpr size_t kWords = kBytes / sizeof(unsigned long long);
  constexpr size_t kSmall = 4096;
  CUdeviceptr memory = 0, other = 0;
  CHECK_OK(p->api.MemAlloc(&memory, kBytes));
  CHECK_OK(p->api.MemAlloc(&other, kSmall));
  void* host = nullptr;
  CHECK_OK(p->api.MemHostAlloc(&host, kBytes, 0));
  const auto* words = static_cast<const volatile unsigned long long*>(host);
  for (unsigned long long round = 1; round <= 20; ++round) {
    p->Launch(p->fill_hash, memory, kWords, round);
    for (int i = 0; i < 20; ++i) p->Launch(p->add_constant, memory, kWords, 1);
    CHECK_OK(p->api.MemcpyDtoHAsync(host, memory, kBytes, p->stream));
    CHECK_OK(p->api.MemFree(other));
    CHECK(words[kWords - 1] == Program::Word(kWords - 1, round) + 20);
    CHECK_OK(p->api.MemAlloc(&other, kSmall));
  }
  CHECK_OK(p->api.MemFreeHost(host));
}

// Memory that is the program's own affair is asked for when the device is full of ours.
void Rescue(Program* p) {
  p->Start();
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  std::vector<CUdeviceptr> buffers(2 * total / kBytes);
  for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBytes));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, p->device};
  properties.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
  const size_t large = total / 4 / kBytes * kBytes;
  CUmemGenericAllocationHandle handle = 0;
  CHECK_OK(p->api.MemCreate(&handle, large, &properties, 0));
  CUcontext other = nullptr;  // Takes device memory as well.
  CHECK_OK(p->api.CtxCreate(&other, nullptr, 0, p->device));
  CHECK_OK(p->api.CtxSetCurrent(p->context));
  p->Work(buffers, kBytes, 2);
  // What cannot be had is refused all the same, and nothing is written.
  CUmemGenericAllocationHandle none = 7;
  CHECK(p->api.MemCreate(&none, 4 * total, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(none == 7);
  p->Work(buffers, kBytes, 1);
  CHECK_OK(p->api.CtxDestroy(other));
  CHECK_OK(p->api.CtxSetCurrent(p->context));
  CHECK_OK(p->api.MemRelease(handle));
  for (const CUdeviceptr b : buffers) CHECK_OK(p->api.MemFree(b));
}

// No driver in the process: its functions are not there.
void Absent(Program*) {
  for (const char* name : {"cuInit", "cuMemAlloc_v2", "cuGetProcAddress_v2"}) {
    CHECK(!HasGlobal(name));
  }
}

// Allocates and frees what others in the process allocated, who came to the driver otherwise.
void TwoUsers(Program* p) {
  p->Start();
  Program other{OpenApi("proc1_pt")};
  other.device = p->device;
  other.context = p->context;
  other.LoadKernels();
  std::vector<CUdeviceptr> mine(8), others(8);
  for (CUdeviceptr& b : mine) CHECK_OK(p->api.MemAlloc(&b, kBytes));
  for (CUdeviceptr& b : others) CHECK_OK(other.api.MemAlloc(&b, kBytes));
  other.Work(mine, kBytes, 1);
  p->Work(others, kBytes, 1);
  for (const CUdeviceptr b : mine) CHECK_OK(other.api.MemFree(b));
  for (const CUdeviceptr b : others) CHECK_OK(p->api.MemFree(b));
  p->WorkBeyondMemory(kBytes);
}

// Ends while work is held and memory moves.
void ExitBusy(Program* p) {
  p->Start();
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  std::vector<CUdeviceptr> buffers(2 * total / kBytes);
  for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBytes));
  for (int round = 0; round < 3; ++round) {
    for (const CUdeviceptr b : buffers) p->Launch(p->fill_hash, b, kBytes / 8, 1);
  }
}

// In the middle of its work, by a signal.
void Dies(Program* p, int signal) {
  ExitBusy(p);
  raise(signal);
}

void WithinMemory(Program* p, int rounds) {
  p->Start();
  std::vector<CUdeviceptr> buffers(4);
  for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBytes));
  p->Work(buffers, kBytes, rounds);
}

const std::map<std::string, std::function<void(Program*)>> kScenarios = {
    {"answers", &Answers},
    {"before_init", &BeforeInit},
    {"calls", &MakeCalls},
    {"calls_wide", &EncodeWide},
    {"capacity", &AskCapacity},
    {"cancelled", &ThreadsAreCancelled},
    {"children", &ChildrenOfFork},
    {"contexts", &Contexts},
    {"as_told", &DoAsTold},
    {"dies_aborted", [](Program* p) { Dies(p, SIGABRT); }},
    {"dies_trapped", [](Program* p) { Dies(p, SIGTRAP); }},
    {"dies_killed", [](Program* p) { Dies(p, SIGKILL); }},
    {"doubled", &Doubled},
    {"exec", &Exec},
    {"exit_busy", &ExitBusy},
    {"expandable", &Expandable},
    {"foreign_deep", [](Program* p) { UseForeign(p, "deep"); }},
    {"foreign_exported", [](Program* p) { UseForeign(p, "exported"); }},
    {"foreign_external", [](Program* p) { UseForeign(p, "external"); }},
    {"foreign_flat", [](Program* p) { UseForeign(p, "flat"); }},
    {"foreign_import", [](Program* p) { UseForeign(p, "import"); }},
    {"foreign_large", [](Program* p) { UseForeign(p, "large"); }},
    {"foreign_mapped", [](Program* p) { UseForeign(p, "mapped"); }},
    {"foreign_mipmapped", [](Program* p) { UseForeign(p, "mipmapped"); }},
    {"foreign_handed_out", [](Program* p) { UseForeign(p, "handed_out"); }},
    {"foreign_multicast", [](Program* p) { UseForeign(p, "multicast"); }},
    {"foreign_passed_by", [](Program* p) { UseForeign(p, "passed_by"); }},
    {"foreign_too_much", [](Program* p) { UseForeign(p, "too_much"); }},
    {"fork_after", [](Program* p) { ForkAfter(p, false); }},
    {"fork_after_exit", [](Program* p) { ForkAfter(p, true); }},
    {"fork_before", &ForkBefore},
    {"free_waits", &FreeWaits},
    {"graphs", &LaunchLargeGraphs},
    {"graphs_contexts", &LaunchAcrossContexts},
    {"graphs_often", &LaunchOneGraphOften},
    {"graphs_short", &LaunchAsMemoryGetsShort},
    {"ipc", &ShareByIpc},
    {"ipc_closes", [](Program* p) { IpcWhereAllIsClosed(p, false); }},
    {"ipc_closes_shared", [](Program* p) { IpcWhereAllIsClosed(p, true); }},
    {"ipc_full", &IpcWithoutRoom},
    {"ipc_mute", &IpcBesideTheMute},
    {"ipc_reduce", &ReduceByIpc},
    {"ipc_waits", &IpcBesideOneThatWaits},
    {"ipc_refused", &IpcRefused},
    {"nvml", &AskNvml},
    {"own_host_memory", &UseOwnHostMemory},
    {"peers_afar", &CopyFromAfar},
    {"peers_apart", &CopyApart},
    {"peers_disabled", &PeersDisabled},
    {"peers_in_flight", &PeersInFlight},
    {"peers_end", &PeersEnd},
    {"peers_pool", &PoolIsOpened},
    {"peers_refused", &PeersRefused},
    {"pools", [](Program* p) { AskPools(p, false); }},
    {"pools_churn", [](Program* p) { ChurnPools(p, false); }},
    {"pools_churn_pt", [](Program* p) { ChurnPools(p, true); }},
    {"pools_order", [](Program* p) { PoolsKeepOrder(p, false); }},
    {"pools_order_pt", [](Program* p) { PoolsKeepOrder(p, true); }},
    {"pools_own", [](Program* p) { OwnPool(p, false); }},
    {"pools_own_pt", [](Program* p) { OwnPool(p, true); }},
    {"pools_pt", [](Program* p) { AskPools(p, true); }},
    {"process", &SayWhatIsWanted},
    {"queries", &AskQueries},
    {"pools_synchronised", &PoolsAreTrimmedBySynchronising},
    {"register", &RegisterAndHandOut},
    {"rescue", &Rescue},
    {"rescue_each", &RescueEach},
    {"sleep", &SleepAndWake},
    {"sync_memops", [](Program* p) { AskToWait(p, false); }},
    {"sync_memops_pt", [](Program* p) { AskToWait(p, true); }},
    {"table", &CheckTable},
    {"take_free", &TakeWhatIsFree},
    {"threads", &Threads},
    {"tool_asks", [](Program* p) { ToolAsksForCupti(p, "asks"); }},
    {"tool_binds", [](Program* p) { ToolAsksForCupti(p, "binds"); }},
    {"tool_linked", [](Program* p) { ToolAsksForCupti(p, "linked"); }},
    {"tool_finalizes", [](Program* p) { ToolAsksForCupti(p, "finalizes"); }},
    {"two_contexts", &TwoContexts},
    {"copies_between_contexts", &CopiesBetweenContexts},
    {"two_users", &TwoUsers},
    {"untouched", &LeavesUntouched},
    {"captures", &AllocateInCaptures},
    {"little_is_left", &LittleIsLeft},
    {"statics", &FreeAtTheEnd},
    {"vmm_answers", &VmmAnswers},
    {"vmm_beside_waiting", &VmmBesideWaiting},
    {"vmm_beside_waiting_short", &VmmBesideWaitingWhileShort},
    {"vmm_newer", &VmmNewer},
    {"vmm_refused", &VmmRefused},
    {"vmm_shared", &VmmShared},
    {"within", [](Program* p) { WithinMemory(p, 1); }},
    {"within_long", [](Program* p) { WithinMemory(p, 100); }},
    {"within_endless", [](Program* p) { WithinMemory(p, 1 << 30); }},
};

const std::map<std::string, std::function<void(Program*, const std::string&)>> kCallScenarios = {
    {"contexts_end", &EndContexts}, {"lifetimes", &FreeInStreamOrder},
    {"look_up", &LookUp},           {"optix", &UseOptix},
    {"patched", &PatchAllocation},  {"peers", &UsePeers},
    {"streams_end", &EndStreams},   {"texref", &BindTexture},
    {"torch", &ReportBlocks},       {"vmm_beside", &VmmBesideLaunches},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) Fail("usage: program ROUTE SCENARIO[:CALL]");
  // A scenario, and behind a colon the call that it is about.
  const std::string argument = argv[2];
  const size_t colon = argument.find(':');
  const std::string name = argument.substr(0, colon);
  const std::string call = colon == std::string::npos ? "" : argument.substr(colon + 1);
  if (name == "absent") {
    Absent(nullptr);
  } else if (name == "table_of_old_driver") {
    CheckTableOfOldDriver(nullptr);
  } else if (const auto of_call = kCallScenarios.find(name); of_call != kCallScenarios.end()) {
    Program p{OpenApi(argv[1])};
    of_call->second(&p, call);
  } else {
    const auto scenario = kScenarios.find(name);
    if (scenario == kScenarios.end()) Fail("no scenario " + name);
    Program p{OpenApi(argv[1])};
    scenario->second(&p);
  }
  std::puts("ok");
  return 0;
}
