// Memory that is allocated and freed in stream order while the device is short of it.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "include/vramspan/process.h"
#include "tests/preload/program_calls.h"

namespace {

constexpr size_t kMi = size_t{1} << 20;
constexpr size_t kWordBytes = sizeof(unsigned long long);

// 16 MiB for vramspan, of which the pools get what is left beside twice as much other memory.
class ShortOfMemory {
 public:
  explicit ShortOfMemory(Program* p) : p_(*p) {
    p_.Start();
    cuuint64_t all = ~cuuint64_t{0};
    CUmemoryPool pool = nullptr;
    CHECK_OK(GET(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool")(&pool, p_.device));
    CHECK_OK(GET(cuMemPoolSetAttribute, "cuMemPoolSetAttribute")(
        pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
  }
  void Press() {
    others_.resize(8);
    for (CUdeviceptr& b : others_) CHECK_OK(p_.api.MemAlloc(&b, 4 * kMi));
    Push();
  }
  // The other memory takes all of the device.
  void Push() {
    for (const CUdeviceptr b : others_) p_.Launch(p_.add_constant, b, 4 * kMi / kWordBytes, 1);
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
  }
  CUdeviceptr Allocate(size_t bytes, CUstream stream) const {
    CUdeviceptr m = 0;
    CHECK_OK(allocate_(&m, bytes, stream));
    return m;
  }
  CUresult Free(CUdeviceptr m, CUstream stream) const { return free_(m, stream); }
  void Check(CUdeviceptr m, size_t bytes, unsigned long long seed, CUstream stream) const {
    std::vector<unsigned long long> words(bytes / kWordBytes);
    CHECK_OK(p_.api.StreamSynchronize(stream));
    CHECK_OK(p_.api.MemcpyDtoH(words.data(), m, bytes));
    for (size_t w = 0; w < words.size(); ++w) {
      if (words[w] != Program::Word(w, seed)) Fail("word " + std::to_string(w) + " is lost");
    }
  }
  vramspanStatistics Statistics() const {
    vramspanStatistics s{};
    s.struct_size = sizeof(s);
    CHECK_OK(statistics_(0, &s));
    return s;
  }

 private:
  Program& p_;
  std::vector<CUdeviceptr> others_;
  const decltype(&cuMemAllocAsync) allocate_ = GET(cuMemAllocAsync, "cuMemAllocAsync");
  const decltype(&cuMemFreeAsync) free_ = GET(cuMemFreeAsync, "cuMemFreeAsync");
  const decltype(&vramspanProcessStatistics) statistics_ =
      reinterpret_cast<decltype(&vramspanProcessStatistics)>(
          dlsym(RTLD_DEFAULT, "vramspanPreloadStatistics"));
};

// A step of a program that repeats itself, in two halves that need memory of different sizes; how
// far the GPU has come when it allocates is another in each round. All addresses come again, and
// what is freed leaves without a copy.
void Steps(Program* p) {
  ShortOfMemory memory(p);
  memory.Press();
  void* host = nullptr;
  CHECK_OK(p->api.MemHostAlloc(&host, 64 * kWordBytes, 0));
  const auto* seen = static_cast<const volatile unsigned long long*>(host);
  std::vector<CUdeviceptr> first;
  vramspanStatistics before{};
  constexpr unsigned long long kRounds = 36, kWarm = 12;
  for (unsigned long long round = 0; round < kRounds; ++round) {
    if (round == kWarm) before = memory.Statistics();
    std::vector<CUdeviceptr> got;
    for (const size_t bytes : {4 * kMi, 6 * kMi}) {
      const size_t words = bytes / kWordBytes;
      std::vector<CUdeviceptr> live;
      for (unsigned long long i = 0; i < 2; ++i) {
        live.push_back(memory.Allocate(bytes, p->stream));
        p->Launch(p->fill_hash, live.back(), words, 2 * round + i);
      }
      got.insert(got.end(), live.begin(), live.end());
      // They are needed again, before what is free is.
      for (const CUdeviceptr m : live) p->Launch(p->add_constant, m, words, 1);
      for (size_t i = 0; i < live.size(); ++i) {
        CHECK_OK(p->api.MemcpyDtoHAsync(static_cast<unsigned long long*>(host) + i,
                                        live[i] + bytes - kWordBytes, kWordBytes, p->stream));
      }
      // The order of frees is not always the same, either.
      if (round % 2 == 1) std::reverse(live.begin(), live.end());
      for (const CUdeviceptr m : live) {
        CHECK_OK(memory.Free(m, p->stream));
        if (round % 3 == 1) CHECK_OK(p->api.StreamSynchronize(p->stream));
      }
      if (round % 3 == 0) continue;
      CHECK_OK(p->api.StreamSynchronize(p->stream));
      for (size_t i = 0; i < live.size(); ++i) {
        CHECK(seen[i] == Program::Word(words - 1, 2 * round + i) + 1);
      }
    }
    if (round < kWarm) first = got;
    CHECK(got == first);
  }
  const vramspanStatistics after = memory.Statistics();
  const uint64_t without = after.bytes_out_clean - before.bytes_out_clean;
  const uint64_t copied = after.bytes_out - before.bytes_out;
  std::fprintf(stderr, "left without a copy: %llu MiB, with one: %llu MiB\n",
               static_cast<unsigned long long>(without / kMi),
               static_cast<unsigned long long>(copied / kMi));
  CHECK(without >= (kRounds - kWarm) * 2 * kMi);
  CHECK(copied <= without / 2);
  CHECK_OK(p->api.MemFreeHost(host));
}

// A stream waits for what this thread does last. What the others free goes back to the device all
// the same, as a pool does it that has more than it needs and a device that fills up.
void Parked(Program* p) {
  ShortOfMemory memory(p);
  unsigned* flag = nullptr;
  CHECK_OK(p->api.MemHostAlloc(reinterpret_cast<void**>(&flag), 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
  CUstream parked = nullptr;
  CHECK_OK(p->api.StreamCreate(&parked, CU_STREAM_NON_BLOCKING));
  CHECK_OK(GET(cuStreamWaitValue32, "cuStreamWaitValue32_v2")(
      parked, reinterpret_cast<CUdeviceptr>(flag), 1, CU_STREAM_WAIT_VALUE_EQ));
  // Each size is of no use to the next, and small ones are packed.
  for (size_t size = 8 * kMi; size < 80 * kMi; size += size / 3) {
    for (const size_t bytes : {size, size_t{4096}}) {
      std::array<CUdeviceptr, 2> blocks{};
      for (CUdeviceptr& b : blocks) b = memory.Allocate(bytes, p->stream);
      for (const CUdeviceptr b : blocks) CHECK_OK(memory.Free(b, p->stream));
    }
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  }
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  CHECK_OK(p->api.StreamSynchronize(parked));
  CHECK_OK(p->api.StreamDestroy(parked));
  CHECK_OK(p->api.MemFreeHost(flag));
}

// The choice by what is free alone: of sizes that fit the smallest, of those the lowest, whether
// the stream has got to the frees or not.
void BestFit(Program* p) {
  ShortOfMemory memory(p);
  const std::array<size_t, 6> sizes = {16 * kMi, 18 * kMi, 16 * kMi, 16 * kMi, 18 * kMi, 16 * kMi};
  std::array<CUdeviceptr, 6> blocks{};
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = memory.Allocate(sizes[i], p->stream);
  for (const bool waits : {true, false}) {
    for (const size_t gone : {size_t{3}, size_t{5}, size_t{0}, size_t{4}, size_t{2}}) {
      // So that the stream is not there yet.
      for (int k = 0; k < 4; ++k) p->Launch(p->add_constant, blocks[1], kMi, 1);
      CHECK_OK(memory.Free(blocks[gone], p->stream));
      if (waits && gone != 2) CHECK_OK(p->api.StreamSynchronize(p->stream));
    }
    std::vector<CUdeviceptr> free = {blocks[0], blocks[2], blocks[3], blocks[5]};
    std::sort(free.begin(), free.end());
    for (const CUdeviceptr lowest : free) {
      CHECK(memory.Allocate(sizes[0], p->stream) == lowest);
    }
    CHECK(memory.Allocate(sizes[0], p->stream) == blocks[4]);  // The larger one fits as well.
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  }
}

// Two threads that use two streams both: what one has freed the other is handed, fills, has
// evicted, and finds as it was.
void Words(Program* p) {
  ShortOfMemory memory(p);
  memory.Press();
  std::array<CUstream, 2> streams{};
  for (CUstream& s : streams) CHECK_OK(p->api.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
  std::vector<std::thread> threads;
  for (unsigned long long t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      Program mine = *p;
      CHECK_OK(mine.api.CtxSetCurrent(mine.context));
      std::deque<std::pair<CUdeviceptr, unsigned long long>> live;
      for (unsigned long long i = 0; i < 120; ++i) {
        mine.stream = streams[i % 2];
        const unsigned long long seed = 1000 * t + i;
        live.emplace_back(memory.Allocate(2 * kMi, mine.stream), seed);
        mine.Launch(mine.fill_hash, live.back().first, 2 * kMi / kWordBytes, seed);
        if (live.size() < 4) continue;
        // It was filled in the stream of its turn, which is this one's.
        memory.Check(live.front().first, 2 * kMi, live.front().second, streams[(i - 3) % 2]);
        CHECK_OK(memory.Free(live.front().first, streams[i % 2]));
        live.pop_front();
      }
      for (const auto& [m, seed] : live) CHECK_OK(memory.Free(m, streams[0]));
    });
  }
  for (int i = 0; i < 20; ++i) memory.Push();
  for (std::thread& t : threads) t.join();
}

// A free that fails leaves all that is in the memory.
void FreeFails(Program* p) {
  ShortOfMemory memory(p);
  memory.Press();
  const CUdeviceptr m = memory.Allocate(4 * kMi, p->stream);
  p->Launch(p->fill_hash, m, 4 * kMi / kWordBytes, 7);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  const auto fail = Get<int (*)(const char*, unsigned long long, long long, int)>("simcudaFail");
  CHECK(fail("cuEventRecord", 1, 1, CUDA_ERROR_OUT_OF_MEMORY) == 0);
  CHECK(memory.Free(m, p->stream) == CUDA_ERROR_OUT_OF_MEMORY);
  for (int i = 0; i < 3; ++i) memory.Push();
  memory.Check(m, 4 * kMi, 7, p->stream);
  CHECK_OK(memory.Free(m, p->stream));
}

// What the pools keep makes room for whoever finds none: 20 of 32 MiB. What moves has two places.
void NoRoom(Program* p) {
  ShortOfMemory memory(p);
  std::vector<CUdeviceptr> blocks(5);
  const auto fill = [&] {
    for (CUdeviceptr& b : blocks) b = memory.Allocate(4 * kMi, p->stream);
    for (const CUdeviceptr b : blocks) p->Launch(p->fill_hash, b, 4 * kMi / kWordBytes, b);
    for (const CUdeviceptr b : blocks) memory.Check(b, 4 * kMi, b, p->stream);
    for (const CUdeviceptr b : blocks) CHECK_OK(memory.Free(b, p->stream));
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  };
  fill();
  CUdeviceptr plain = 0;
  CHECK_OK(p->api.MemAlloc(&plain, 16 * kMi));
  CHECK_OK(p->api.MemFree(plain));
  fill();
  const CUdeviceptr large = memory.Allocate(16 * kMi, p->stream);
  CHECK_OK(memory.Free(large, p->stream));
}

// The same while frees are pending, and for memory that the program itself maps.
void NoRoomYet(Program* p) {
  ShortOfMemory memory(p);
  CUstream other = nullptr;
  CHECK_OK(p->api.StreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = p->device;
  std::vector<CUdeviceptr> blocks(5);
  for (int round = 0; round < 12; ++round) {
    for (CUdeviceptr& b : blocks) b = memory.Allocate(4 * kMi, p->stream);
    for (const CUdeviceptr b : blocks) p->Launch(p->fill_hash, b, 4 * kMi / kWordBytes, b);
    for (const CUdeviceptr b : blocks) CHECK_OK(memory.Free(b, p->stream));
    if (round % 3 == 0) {
      CHECK_OK(memory.Free(memory.Allocate(16 * kMi, other), other));
    } else if (round % 3 == 1) {
      CUdeviceptr plain = 0;
      CHECK_OK(p->api.MemAlloc(&plain, 16 * kMi));
      CHECK_OK(p->api.MemFree(plain));
    } else {
      CUmemGenericAllocationHandle mapped = 0;
      CHECK_OK(p->api.MemCreate(&mapped, 16 * kMi, &properties, 0));
      CHECK_OK(p->api.MemRelease(mapped));
    }
  }
  CHECK_OK(p->api.StreamDestroy(other));
}

// No two steps need the same: what the pool keeps stays bounded.
void Varies(Program* p) {
  ShortOfMemory memory(p);
  memory.Press();
  CUmemoryPool pool = nullptr;
  CHECK_OK(GET(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool")(&pool, p->device));
  size_t peak = 0;
  cuuint64_t most = 0;
  for (unsigned step = 0; step < 40; ++step) {
    const size_t bytes = (2 + step * 7 % 15) * 2 * kMi;
    std::array<CUdeviceptr, 4> live{};
    for (CUdeviceptr& b : live) b = memory.Allocate(bytes, p->stream);
    for (const CUdeviceptr b : live) p->Launch(p->fill_hash, b, 512, step);
    peak = std::max(peak, 4 * bytes);
    for (const CUdeviceptr b : live) CHECK_OK(memory.Free(b, p->stream));
    CHECK_OK(p->api.StreamSynchronize(p->stream));
    cuuint64_t reserved = 0;
    CHECK_OK(GET(cuMemPoolGetAttribute, "cuMemPoolGetAttribute")(
        pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    most = std::max(most, reserved);
  }
  // And steps of 32 MiB in which it is told.
  CHECK(most <= 2 * peak + 32 * kMi);
}

// Memory that another stream frees behind a gate, and who comes behind that free.
class BehindAGate {
 public:
  BehindAGate(Program* p, const ShortOfMemory& memory) : p_(*p), memory_(memory) {
    CHECK_OK(p_.api.StreamCreate(&other_, CU_STREAM_NON_BLOCKING));
    for (CUevent* const event : {&filled_, &told_}) {
      CHECK_OK(GET(cuEventCreate, "cuEventCreate")(event, CU_EVENT_DISABLE_TIMING));
    }
    // The first launch of a kernel waits for what runs.
    const CUdeviceptr m = memory_.Allocate(kBytes, p_.stream);
    p_.Launch(p_.fill_hash, m, 1, 1);
    p_.Launch(p_.add_constant, m, 1, 1);
    CHECK_OK(memory_.Free(m, p_.stream));
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
  }
  ~BehindAGate() {
    for (const CUevent event : {filled_, told_}) {
      CHECK_OK(GET(cuEventDestroy, "cuEventDestroy_v2")(event));
    }
    CHECK_OK(p_.api.StreamDestroy(other_));
  }
  static void Record(CUevent event, CUstream stream) {
    CHECK_OK(GET(cuEventRecord, "cuEventRecord")(event, stream));
  }
  static void Wait(CUstream stream, CUevent event) {
    CHECK_OK(GET(cuStreamWaitEvent, "cuStreamWaitEvent")(stream, event, 0));
  }
  // It is filled in the program's stream, and behind the gate changed and freed.
  CUdeviceptr Freed() {
    open_ = false;
    const CUdeviceptr block = memory_.Allocate(kBytes, p_.stream);
    p_.Launch(p_.fill_hash, block, kBytes / kWordBytes, 1);
    Record(filled_, p_.stream);
    Wait(other_, filled_);
    CHECK_OK(GET(cuLaunchHostFunc, "cuLaunchHostFunc")(other_, &WaitAtGate, this));
    Program others = p_;
    others.stream = other_;
    others.Launch(p_.add_constant, block, kBytes / kWordBytes, 1);
    CHECK_OK(memory_.Free(block, other_));
    return block;
  }
  CUdeviceptr Taken() const { return memory_.Allocate(kBytes, p_.stream); }
  // What the program's stream writes to the block comes after what the other did.
  void WriteAndOpen(CUdeviceptr block) {
    p_.Launch(p_.fill_hash, block, kBytes / kWordBytes, 2);
    open_ = true;
    CHECK_OK(p_.api.StreamSynchronize(other_));
    memory_.Check(block, kBytes, 2, p_.stream);
    CHECK_OK(memory_.Free(block, p_.stream));
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
  }
  CUstream other() const { return other_; }
  CUevent told() const { return told_; }  // For whoever tells of the free.

 private:
  static constexpr size_t kBytes = 4 * kMi;
  static void CUDA_CB WaitAtGate(void* self) {
    while (!static_cast<BehindAGate*>(self)->open_) std::this_thread::yield();
  }

  Program& p_;
  const ShortOfMemory& memory_;
  CUstream other_ = nullptr;
  CUevent filled_ = nullptr, told_ = nullptr;
  std::atomic<bool> open_{false};
};

// A stream that comes behind a free by an event is handed the memory before the GPU is there; one
// that does not is not, nor is it where the pool does not follow events.
void Events(Program* p) {
  const ShortOfMemory memory(p);
  BehindAGate gate(p, memory);
  const CUevent event = gate.told();
  CUmemoryPool pool = nullptr;
  CHECK_OK(GET(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool")(&pool, p->device));
  for (int follows : {1, 0, 1}) {
    CHECK_OK(GET(cuMemPoolSetAttribute, "cuMemPoolSetAttribute")(
        pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &follows));
    const CUdeviceptr block = gate.Freed();
    const CUdeviceptr before = gate.Taken();
    CHECK(before != block);
    gate.Record(event, gate.other());
    const CUdeviceptr recorded = gate.Taken();
    CHECK(recorded != block);
    gate.Wait(p->stream, event);
    const CUdeviceptr behind = gate.Taken();
    CHECK((behind == block) == (follows != 0));
    gate.WriteAndOpen(behind);
    for (const CUdeviceptr m : {before, recorded}) CHECK_OK(memory.Free(m, p->stream));
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  }
}

// A graph records the event again, which nobody sees: it tells of the free no more. A wait that is
// captured is none, either. In neither case does the stream come behind the gate.
void EventsOfGraphs(Program* p) {
  const ShortOfMemory memory(p);
  BehindAGate gate(p, memory);
  const CUevent event = gate.told();
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CHECK_OK(GET(cuGraphCreate, "cuGraphCreate")(&graph, 0));
  CHECK_OK(
      GET(cuGraphAddEventRecordNode, "cuGraphAddEventRecordNode")(&node, graph, nullptr, 0, event));
  CHECK_OK(GET(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags")(&exec, graph, 0));
  const auto apart = [&](CUdeviceptr block) {
    const CUdeviceptr taken = gate.Taken();
    CHECK(taken != block);
    CHECK_OK(p->api.StreamSynchronize(p->stream));
    gate.WriteAndOpen(taken);
  };
  CUdeviceptr block = gate.Freed();
  gate.Record(event, gate.other());
  CHECK_OK(GET(cuGraphLaunch, "cuGraphLaunch")(exec, p->stream));
  gate.Wait(p->stream, event);
  apart(block);
  CHECK_OK(GET(cuGraphExecDestroy, "cuGraphExecDestroy")(exec));

  // The other stream captures, and this one joins.
  block = gate.Freed();
  CUgraph captured = nullptr;
  CHECK_OK(GET(cuStreamBeginCapture, "cuStreamBeginCapture_v2")(gate.other(),
                                                                CU_STREAM_CAPTURE_MODE_RELAXED));
  gate.Record(event, gate.other());
  gate.Wait(p->stream, event);
  gate.Record(event, p->stream);
  gate.Wait(gate.other(), event);
  CHECK_OK(GET(cuStreamEndCapture, "cuStreamEndCapture")(gate.other(), &captured));
  apart(block);
  CHECK_OK(GET(cuGraphDestroy, "cuGraphDestroy")(captured));
  CHECK_OK(GET(cuGraphDestroy, "cuGraphDestroy")(graph));
}

}  // namespace

void FreeInStreamOrder(Program* p, const std::string& name) {
  const std::map<std::string, void (*)(Program*)> cases = {
      {"steps", &Steps},    {"best_fit", &BestFit},
      {"words", &Words},    {"free_fails", &FreeFails},
      {"no_room", &NoRoom}, {"no_room_yet", &NoRoomYet},
      {"parked", &Parked},  {"varies", &Varies},
      {"events", &Events},  {"events_of_graphs", &EventsOfGraphs}};
  const auto found = cases.find(name);
  CHECK(found != cases.end());
  found->second(p);
}
