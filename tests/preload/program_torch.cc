// What PyTorch's allocator does while the device is short of memory: it hands out blocks of what it
// has allocated, has them back, and reports both to another library.
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "include/vramspan/process.h"
#include "tests/preload/program_calls.h"

namespace {

constexpr size_t kMi = size_t{1} << 20;
constexpr size_t kWordBytes = sizeof(unsigned long long);

// In 16 MiB for vramspan, beside twice as much memory that is used by turns.
class Torch {
 public:
  explicit Torch(Program* p) : p_(*p) {
    p_.Start();
    void* const library = dlopen("libc10_cuda.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) Fail(dlerror());
    report_ = reinterpret_cast<decltype(report_)>(dlsym(library, "ReportBlock"));
    reports_ = reinterpret_cast<decltype(reports_)>(dlsym(library, "Reports"));
    make_segment_ = reinterpret_cast<decltype(make_segment_)>(dlsym(library, "MakeSegment"));
    small_ = Segment(2 * kMi);
    others_.resize(8);
    AllocateOthers();
    Push();
  }
  ~Torch() { CHECK(reports_() == sent_); }

  // The other memory takes all of the device, and small blocks come and go beside it.
  void Push() {
    for (const CUdeviceptr b : others_) {
      HandOut(small_, 4096);
      p_.Launch(p_.add_constant, b, 4 * kMi / kWordBytes, 1);
      TakeBack(small_, 4096);
    }
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
  }
  void AllocateOthers() {
    for (CUdeviceptr& b : others_) CHECK_OK(p_.api.MemAlloc(&b, 4 * kMi));
  }
  void FreeOthers() {
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
    for (const CUdeviceptr b : others_) CHECK_OK(p_.api.MemFree(b));
  }
  // As Push, and nothing is reported.
  void PushSilently() {
    for (const CUdeviceptr b : others_) p_.Launch(p_.add_constant, b, 4 * kMi / kWordBytes, 1);
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
  }
  // Again and again, until as much has left as the device has room for.
  void PushUntilAllHasLeft() {
    const uint64_t out = Statistics().bytes_out;
    while (Statistics().bytes_out < out + 16 * kMi) {
      PushSilently();
      usleep(10'000);
    }
  }
  // Work follows what came back, and ends, and another block comes back.
  void Settle() {
    for (int i = 0; i < 2; ++i) {
      HandOut(small_, 4096);
      Fill(small_, 4096, 1);
      CHECK_OK(p_.api.StreamSynchronize(p_.stream));
      TakeBack(small_, 4096);
    }
  }
  CUdeviceptr Segment(size_t bytes) const {
    CUdeviceptr m = 0;
    CHECK_OK(p_.api.MemAlloc(&m, bytes));
    return m;
  }
  // That the allocator itself has of the driver.
  CUdeviceptr OwnSegment(size_t bytes) const {
    CUdeviceptr m = 0;
    CHECK_OK(make_segment_(p_.api.MemAlloc, &m, bytes));
    return m;
  }
  void HandOut(CUdeviceptr p, size_t bytes) { Report(p, static_cast<int64_t>(bytes)); }
  void TakeBack(CUdeviceptr p, size_t bytes) { Report(p, -static_cast<int64_t>(bytes)); }
  // A block is handed out, filled, and comes back.
  void Pass(CUdeviceptr p, size_t bytes) {
    HandOut(p, bytes);
    Fill(p, bytes, 1);
    TakeBack(p, bytes);
  }
  // Nobody's business here.
  void ReportHostMemory() {
    report_(&p_, 4096, 0);
    ++sent_;
  }
  void Fill(CUdeviceptr p, size_t bytes, unsigned long long seed) {
    p_.Launch(p_.fill_hash, p, bytes / kWordBytes, seed);
  }
  void Check(CUdeviceptr p, size_t bytes, unsigned long long seed) const {
    std::vector<unsigned long long> words(bytes / kWordBytes);
    CHECK_OK(p_.api.StreamSynchronize(p_.stream));
    CHECK_OK(p_.api.MemcpyDtoH(words.data(), p, bytes));
    for (size_t w = 0; w < words.size(); ++w) {
      if (words[w] != Program::Word(w, seed)) {
        Fail("word " + std::to_string(w) + " of seed " + std::to_string(seed) + " is lost");
      }
    }
  }
  static vramspanStatistics Statistics() {
    static const auto get = reinterpret_cast<decltype(&vramspanProcessStatistics)>(
        dlsym(RTLD_DEFAULT, "vramspanPreloadStatistics"));
    vramspanStatistics s{};
    s.struct_size = sizeof(s);
    CHECK_OK(get(0, &s));
    return s;
  }
  Program& program() { return p_; }

 private:
  void Report(CUdeviceptr p, int64_t bytes) {
    report_(reinterpret_cast<void*>(p), bytes, 1);
    ++sent_;
  }

  Program& p_;
  CUdeviceptr small_ = 0;
  std::vector<CUdeviceptr> others_;
  void (*report_)(void*, int64_t, int) = nullptr;
  long (*reports_)() = nullptr;
  CUresult (*make_segment_)(decltype(&::cuMemAlloc_v2), CUdeviceptr*, size_t) = nullptr;
  long sent_ = 0;
};

// Two blocks of a segment are filled, read and given back in each round. What has come back leaves
// without a copy.
void Steps(Program* p) {
  Torch torch(p);
  torch.ReportHostMemory();
  const CUdeviceptr segment = torch.Segment(8 * kMi);
  constexpr unsigned long long kRounds = 24;
  const bool heard = std::getenv("VRAMSPAN_BLOCKS") == nullptr;
  const unsigned long long most_rounds = heard ? 400 : kRounds;
  const vramspanStatistics before = Torch::Statistics();
  const auto without = [&] { return Torch::Statistics().bytes_out_clean - before.bytes_out_clean; };
  // How much has left before it came back depends on how busy the machine is.
  for (unsigned long long round = 0;
       round < kRounds || (round < most_rounds && without() != 0 && without() < kRounds * 2 * kMi);
       ++round) {
    for (const CUdeviceptr m : {segment, segment + 4 * kMi}) {
      torch.HandOut(m, 4 * kMi);
      torch.Fill(m, 4 * kMi, round);
    }
    if (round % 4 == 0) torch.Check(segment + 4 * kMi, 4 * kMi, round);
    for (const CUdeviceptr m : {segment, segment + 4 * kMi}) torch.TakeBack(m, 4 * kMi);
    // Nothing is held when it is told, so that it holds nothing before others need its place.
    torch.Settle();
    torch.Push();
  }
  std::fprintf(stderr, "left without a copy: %llu MiB\n",
               static_cast<unsigned long long>(without() / kMi));
  CHECK(without() >= kRounds * 2 * kMi);
}

// A kernel's parameters hold an address that they need not, where a block was that has just come
// back (compilers leave words as they were). Nobody else can have the segment, so it is given up
// all the same. Some launches hold it later, when it was given up, and find memory.
constexpr unsigned long long kStrayRounds = 24;
uint64_t LeaveStrays(Program* p, unsigned long long most_rounds) {
  Torch torch(p);
  const CUdeviceptr segment = torch.OwnSegment(8 * kMi);
  constexpr unsigned long long kRounds = kStrayRounds;
  const vramspanStatistics before = Torch::Statistics();
  const auto without = [&] { return Torch::Statistics().bytes_out_clean - before.bytes_out_clean; };
  for (unsigned long long round = 0;
       round < kRounds || (round < most_rounds && without() < kRounds * 2 * kMi); ++round) {
    torch.HandOut(segment, 8 * kMi);
    torch.Fill(segment, 8 * kMi, round);
    if (round % 4 == 0) torch.Check(segment, 8 * kMi, round);
    torch.TakeBack(segment, 8 * kMi);
    p->Launch(p->add_constant, segment, 0, 1);
    torch.Settle();
    torch.Push();
    if (round % 8 == 0) p->Launch(p->add_constant, segment + 2 * kMi, 8, 1);
  }
  std::fprintf(stderr, "left without a copy: %llu MiB\n",
               static_cast<unsigned long long>(without() / kMi));
  return without();
}
void Strays(Program* p) { CHECK(LeaveStrays(p, 400) >= kStrayRounds * 2 * kMi); }
// Somebody has taken cudaMalloc over, who may give what PyTorch gives back to others.
void Wrapped(Program* p) {
  CHECK(dlopen("libkeeps_memory.so", RTLD_NOW | RTLD_GLOBAL) != nullptr);
  CHECK(LeaveStrays(p, kStrayRounds) < kStrayRounds * 2 * kMi);
}

// A segment that lies beside one that nobody uses is given up by itself.
void Adjacent(Program* p) {
  Torch torch(p);
  const CUdeviceptr idle = torch.Segment(4 * kMi), segment = torch.Segment(4 * kMi);
  CHECK(segment == idle + 4 * kMi);
  torch.HandOut(idle, 4 * kMi);
  torch.TakeBack(idle, 4 * kMi);
  torch.Settle();
  constexpr unsigned long long kRounds = 24, kMostRounds = 400;
  const vramspanStatistics before = Torch::Statistics();
  const auto without = [&] { return Torch::Statistics().bytes_out_clean - before.bytes_out_clean; };
  for (unsigned long long round = 0;
       round < kRounds || (round < kMostRounds && without() < kRounds * kMi); ++round) {
    torch.HandOut(segment, 4 * kMi);
    torch.Fill(segment, 4 * kMi, round);
    torch.TakeBack(segment, 4 * kMi);
    torch.Settle();
    torch.Push();
  }
  CHECK(without() >= kRounds * kMi);
}

// Blocks of many sizes come and go; each holds its words until it comes back, whoever is handed
// what lay beside it. A granule is shared by the blocks at its ends.
void Words(Program* p) {
  Torch torch(p);
  struct Block {
    CUdeviceptr p;
    size_t bytes;
    unsigned long long seed;
  };
  constexpr size_t kSegment = 12 * kMi;
  const CUdeviceptr segments[] = {torch.Segment(kSegment), torch.Segment(kSegment)};
  std::deque<Block> live;
  CUdeviceptr next[] = {segments[0], segments[1]};
  unsigned long long random = 12345;
  for (unsigned long long seed = 1; seed < 200; ++seed) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const size_t of = random >> 40 & 1;
    const size_t bytes = ((random >> 41) % 9 + 1) * 512 * 1024 + ((random >> 50) % 7) * 512;
    if (next[of] + bytes > segments[of] + kSegment) next[of] = segments[of];
    const auto overlaps = [&](const Block& b) {
      return b.p < next[of] + bytes && next[of] < b.p + b.bytes;
    };
    for (size_t i = 0; i < live.size();) {
      if (!overlaps(live[i])) {
        ++i;
        continue;
      }
      if (seed % 3 == 0) torch.Check(live[i].p, live[i].bytes, live[i].seed);
      torch.TakeBack(live[i].p, live[i].bytes);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    torch.HandOut(next[of], bytes);
    torch.Fill(next[of], bytes, seed);
    live.push_back({next[of], bytes, seed});
    next[of] += bytes;
    if (seed % 5 == 0) torch.Push();
  }
  for (const Block& b : live) torch.Check(b.p, b.bytes, b.seed);
}

// A graph goes on using a block that was handed out while it was captured, though it has come back.
void Captured(Program* p) {
  Torch torch(p);
  const CUdeviceptr segment = torch.Segment(8 * kMi);
  // Before, the block was another's, and has come back.
  torch.HandOut(segment, 4 * kMi);
  torch.Fill(segment, 4 * kMi, 1);
  torch.TakeBack(segment, 4 * kMi);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK_OK(GET(cuStreamBeginCapture, "cuStreamBeginCapture_v2")(p->stream,
                                                                CU_STREAM_CAPTURE_MODE_RELAXED));
  torch.HandOut(segment, 4 * kMi);
  torch.Fill(segment, 4 * kMi, 2);
  torch.TakeBack(segment, 4 * kMi);
  CHECK_OK(GET(cuStreamEndCapture, "cuStreamEndCapture")(p->stream, &graph));
  CHECK_OK(GET(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags")(&exec, graph, 0));
  for (int round = 0; round < 6; ++round) {
    CHECK_OK(GET(cuGraphLaunch, "cuGraphLaunch")(exec, p->stream));
    // It stays what it is, also where the allocator restores it as it was after the capture.
    torch.HandOut(segment, 4 * kMi);
    torch.TakeBack(segment, 4 * kMi);
    torch.Push();
    torch.HandOut(segment + 4 * kMi, 2 * kMi);
    torch.Push();
    torch.TakeBack(segment + 4 * kMi, 2 * kMi);
    torch.Check(segment, 4 * kMi, 2);
  }
  CHECK_OK(GET(cuGraphExecDestroy, "cuGraphExecDestroy")(exec));
}

// A block is handed out and filled before the capture, dies during it or right behind it, and the
// graph reads it whenever it is launched (as cudagraph trees of PyTorch do with their inputs).
void Inputs(Program* p) {
  Torch torch(p);
  for (const bool behind : {false, true}) {
    const CUdeviceptr in = torch.Segment(4 * kMi), out = torch.Segment(4 * kMi);
    torch.HandOut(in, 4 * kMi);
    torch.Fill(in, 4 * kMi, 5);
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CHECK_OK(GET(cuStreamBeginCapture, "cuStreamBeginCapture_v2")(p->stream,
                                                                  CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK_OK(GET(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2")(out, in, 4 * kMi, p->stream));
    if (!behind) torch.TakeBack(in, 4 * kMi);
    CHECK_OK(GET(cuStreamEndCapture, "cuStreamEndCapture")(p->stream, &graph));
    CHECK_OK(GET(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags")(&exec, graph, 0));
    if (behind) torch.TakeBack(in, 4 * kMi);
    for (int round = 0; round < 3; ++round) {
      torch.Push();
      torch.Push();
      CHECK_OK(GET(cuGraphLaunch, "cuGraphLaunch")(exec, p->stream));
      torch.Check(out, 4 * kMi, 5);
    }
    CHECK_OK(GET(cuGraphExecDestroy, "cuGraphExecDestroy")(exec));
  }
}

// The same where the graph reads the block's address in memory, and nothing names it.
void Table(Program* p) {
  Torch torch(p);
  CUfunction add = nullptr;
  CHECK_OK(GET(cuModuleGetFunction, "cuModuleGetFunction")(&add, p->module, "add_to_table"));
  const CUdeviceptr in = torch.Segment(4 * kMi), table = torch.Segment(2 * kMi);
  torch.HandOut(in, 4 * kMi);
  torch.HandOut(table, 512);
  torch.Fill(in, 4 * kMi, 5);
  CHECK_OK(GET(cuMemcpyHtoD, "cuMemcpyHtoD_v2")(table, &in, sizeof(in)));
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CHECK_OK(GET(cuStreamBeginCapture, "cuStreamBeginCapture_v2")(p->stream,
                                                                CU_STREAM_CAPTURE_MODE_RELAXED));
  size_t arrays = 1, count = 4 * kMi / kWordBytes;
  unsigned long long value = 1;
  CUdeviceptr at = table;
  void* params[] = {&at, &arrays, &count, &value};
  CHECK_OK(p->api.LaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, p->stream, params, nullptr));
  CHECK_OK(GET(cuStreamEndCapture, "cuStreamEndCapture")(p->stream, &graph));
  CHECK_OK(GET(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags")(&exec, graph, 0));
  torch.TakeBack(in, 4 * kMi);
  for (int round = 0; round < 6; ++round) torch.Push();
  CHECK_OK(GET(cuGraphLaunch, "cuGraphLaunch")(exec, p->stream));
  std::vector<unsigned long long> words(count);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  CHECK_OK(p->api.MemcpyDtoH(words.data(), in, 4 * kMi));
  for (size_t w = 0; w < count; ++w) CHECK(words[w] == Program::Word(w, 5) + 1);
  CHECK_OK(GET(cuGraphExecDestroy, "cuGraphExecDestroy")(exec));
}

// A kernel goes a little past the end of its block, into one that is free.
void PastTheEnd(Program* p) {
  Torch torch(p);
  const CUdeviceptr segment = torch.Segment(8 * kMi);
  for (const CUdeviceptr m : {segment, segment + 4 * kMi}) {
    torch.HandOut(m, 4 * kMi);
    torch.Fill(m, 4 * kMi, 7);
  }
  torch.TakeBack(segment + 4 * kMi, 4 * kMi);
  for (int round = 0; round < 12; ++round) {
    torch.Push();
    p->Launch(p->add_constant, segment, 4 * kMi / kWordBytes + 8, 0);
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  }
  torch.Check(segment, 4 * kMi, 7);
}

// Blocks that come back and are handed out again with no work in between hold what they held.
void Restored(Program* p) {
  Torch torch(p);
  const CUdeviceptr segments[] = {torch.Segment(4 * kMi), torch.Segment(4 * kMi)};
  for (const CUdeviceptr m : segments) {
    torch.HandOut(m, 4 * kMi);
    torch.Fill(m, 4 * kMi, 7);
  }
  for (int round = 0; round < 6; ++round) {
    for (const CUdeviceptr m : segments) torch.TakeBack(m, 4 * kMi);
    for (const CUdeviceptr m : segments) torch.HandOut(m, 4 * kMi);
    // Before anything reads it: what reads memory may fill it, as far as is known.
    torch.Push();
    for (const CUdeviceptr m : segments) torch.Check(m, 4 * kMi, 7);
  }
}

// The segment is freed, and its addresses come again as memory of which nobody reports anything.
void FreedSegments(Program* p) {
  Torch torch(p);
  for (unsigned long long round = 1; round < 8; ++round) {
    const CUdeviceptr segment = torch.Segment(8 * kMi);
    torch.HandOut(segment, 4 * kMi);
    torch.Fill(segment, 4 * kMi, round);
    torch.TakeBack(segment, 4 * kMi);
    torch.Push();
    CHECK_OK(p->api.MemFree(segment));
    const CUdeviceptr plain = torch.Segment(8 * kMi);
    torch.Fill(plain, 8 * kMi, 100 + round);
    const CUdeviceptr beside = torch.Segment(4 * kMi);
    torch.HandOut(beside, 4 * kMi);
    torch.Fill(beside, 4 * kMi, 200 + round);
    torch.TakeBack(beside, 4 * kMi);
    torch.Push();
    torch.HandOut(beside, 4 * kMi);
    torch.Check(plain, 8 * kMi, 100 + round);
    CHECK_OK(p->api.MemFree(plain));
    CHECK_OK(p->api.MemFree(beside));
  }
}

// What is reported makes no sense: more comes back than was handed out, of what is no memory, and
// from the middle of others.
void Nonsense(Program* p) {
  Torch torch(p);
  const CUdeviceptr segment = torch.Segment(8 * kMi);
  torch.Fill(segment, 8 * kMi, 3);
  torch.TakeBack(segment, 4 * kMi);
  torch.HandOut(segment, 2 * kMi);
  torch.TakeBack(segment, 8 * kMi);
  torch.HandOut(0, 4096);
  torch.TakeBack(~CUdeviceptr{0} - 4096, 1 << 20);
  torch.Push();
  torch.Check(segment, 8 * kMi, 3);
  for (const int log2 : {48, 54, 62}) {
    torch.HandOut(segment + 4 * kMi, size_t{1} << log2);
    torch.TakeBack(segment + 4 * kMi, size_t{1} << log2);
  }
  torch.Push();
  torch.Check(segment, 8 * kMi, 3);
}

// An allocator above another one. Of the program's own arena it was given all but the first MiB,
// which is the program's and lies in one granule with it.
void ShareGranule(Torch* torch, CUdeviceptr arena) {
  torch->Fill(arena, kMi, 9);
  for (int round = 0; round < 6; ++round) {
    torch->Pass(arena + kMi, 3 * kMi);
    torch->Settle();
    torch->Push();
  }
  torch->Check(arena, kMi, 9);
}
void ArenaEdge(Program* p) {
  Torch torch(p);
  ShareGranule(&torch, torch.Segment(4 * kMi));
}
// Blocks once had all of that granule.
void ArenaShared(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(4 * kMi);
  torch.Pass(arena, 4 * kMi);
  torch.Settle();
  ShareGranule(&torch, arena);
}

// The arena has a block back and gives it to somebody else, as `array` or within it, and nobody
// tells of that.
void GiveAway(Torch* torch, CUdeviceptr block, size_t bytes, CUdeviceptr array, size_t all) {
  for (unsigned long long round = 0; round < 6; ++round) {
    torch->Pass(block, bytes);
    torch->Fill(array, all, 2 + round);
    torch->Settle();
    torch->Push();
    torch->Check(array, all, 2 + round);
  }
}
void ArenaReuse(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(4 * kMi);
  GiveAway(&torch, arena, 4 * kMi, arena, 4 * kMi);
}
// It begins where a block ends that is in use.
void ArenaBehind(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(8 * kMi), part = arena + 4 * kMi;
  torch.HandOut(arena, 4 * kMi);
  torch.Fill(arena, 4 * kMi, 5);
  GiveAway(&torch, part, 4 * kMi, part, 4 * kMi);
}
// It begins where a graph had a block. The graph is gone.
void ArenaOfGraph(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(8 * kMi);
  CUgraph graph = nullptr;
  CHECK_OK(GET(cuStreamBeginCapture, "cuStreamBeginCapture_v2")(p->stream,
                                                                CU_STREAM_CAPTURE_MODE_RELAXED));
  torch.Pass(arena, 2 * kMi);
  CHECK_OK(GET(cuStreamEndCapture, "cuStreamEndCapture")(p->stream, &graph));
  CHECK_OK(GET(cuGraphDestroy, "cuGraphDestroy")(graph));
  GiveAway(&torch, arena + 2 * kMi, 6 * kMi, arena, 8 * kMi);
}

// Blocks once had all of a granule. Others have its last MiB since, and then what is left of it
// comes back that was handed out before.
void ArenaHalf(Program* p) {
  Torch torch(p);
  for (unsigned long long round = 0; round < 4; ++round) {
    const CUdeviceptr arena = torch.Segment(4 * kMi), theirs = arena + 3 * kMi;
    for (int i = 0; i < 2; ++i) {
      torch.Pass(arena, 4 * kMi);
      torch.Settle();
    }
    torch.HandOut(arena, 3 * kMi);
    torch.Fill(arena, 3 * kMi, 1);
    torch.Fill(theirs, kMi, 9 + round);
    torch.TakeBack(arena, 3 * kMi);
    torch.Settle();
    torch.Push();
    torch.Check(theirs, kMi, 9 + round);
  }
}
// They have it before anything of it may be given up.
void ArenaBefore(Program* p) {
  Torch torch(p);
  for (unsigned long long round = 0; round < 4; ++round) {
    const CUdeviceptr arena = torch.Segment(4 * kMi), theirs = arena + 3 * kMi;
    torch.Pass(arena, 4 * kMi);
    torch.Fill(theirs, kMi, 9 + round);
    torch.Settle();
    torch.Pass(arena, 3 * kMi);
    torch.Settle();
    torch.Push();
    torch.Check(theirs, kMi, 9 + round);
  }
}

// They have it while memory suffices, and nobody looks.
void ArenaRested(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(4 * kMi), theirs = arena + 3 * kMi;
  for (int i = 0; i < 2; ++i) {
    torch.Pass(arena, 4 * kMi);
    torch.Settle();
    torch.Push();
  }
  torch.HandOut(arena, 3 * kMi);
  torch.Fill(arena, 3 * kMi, 1);
  const uint64_t rests = Torch::Statistics().rests;
  torch.FreeOthers();
  while (Torch::Statistics().rests == rests) {
    torch.Fill(arena, 3 * kMi, 1);
    CHECK_OK(p->api.StreamSynchronize(p->stream));
    usleep(10'000);
  }
  torch.Fill(theirs, kMi, 9);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  torch.AllocateOthers();
  torch.PushUntilAllHasLeft();
  torch.TakeBack(arena, 3 * kMi);
  torch.Settle();
  torch.Push();
  torch.Check(theirs, kMi, 9);
}

// The others' launches are the same as the owner's before, in code, place and numbers.
void ArenaByHeart(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(4 * kMi);
  for (int round = 0; round < 12; ++round) {
    torch.Pass(arena, 4 * kMi);
    if (round > 5) torch.Fill(arena, 4 * kMi, 1);
    torch.Settle();
    torch.Push();
    if (round > 5) torch.Check(arena, 4 * kMi, 1);
  }
}

// Of the launches by which they fill it nobody can tell what they name.
void ArenaUnknown(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(4 * kMi);
  const auto set = Get<PFN_cuParamSetv_v2000>("cuParamSetv");
  const unsigned long long count = 4 * kMi / kWordBytes;
  for (unsigned long long round = 0; round < 6; ++round) {
    torch.Pass(arena, 4 * kMi);
    const unsigned long long seed = 2 + round;
    CHECK_OK(Get<PFN_cuFuncSetBlockShape_v2000>("cuFuncSetBlockShape")(p->fill_hash, 32, 1, 1));
    CHECK_OK(Get<PFN_cuParamSetSize_v2000>("cuParamSetSize")(p->fill_hash, 3 * kWordBytes));
    CHECK_OK(set(p->fill_hash, 0, const_cast<CUdeviceptr*>(&arena), kWordBytes));
    CHECK_OK(set(p->fill_hash, 8, const_cast<unsigned long long*>(&count), kWordBytes));
    CHECK_OK(set(p->fill_hash, 16, const_cast<unsigned long long*>(&seed), kWordBytes));
    CHECK_OK(Get<PFN_cuLaunchGridAsync_v2000>("cuLaunchGridAsync")(p->fill_hash, 1, 1, p->stream));
    torch.Settle();
    torch.Push();
    torch.Check(arena, 4 * kMi, seed);
  }
}

// Its kernel finds the array by a table in the host's memory, and so names nothing.
void ArenaTable(Program* p) {
  Torch torch(p);
  CUfunction add = nullptr;
  CHECK_OK(GET(cuModuleGetFunction, "cuModuleGetFunction")(&add, p->module, "add_to_table"));
  const CUdeviceptr arena = torch.Segment(4 * kMi);
  void* table = nullptr;
  CHECK_OK(GET(cuMemHostAlloc, "cuMemHostAlloc")(&table, 4096, 0));
  *static_cast<CUdeviceptr*>(table) = arena;
  for (int round = 0; round < 6; ++round) {
    torch.HandOut(arena, 4 * kMi);
    torch.Fill(arena, 4 * kMi, 5);
    torch.TakeBack(arena, 4 * kMi);
    // What is there is what the arena gives it.
    size_t arrays = 1, count = 4 * kMi / kWordBytes;
    unsigned long long value = 0;
    auto at = reinterpret_cast<CUdeviceptr>(table);
    void* params[] = {&at, &arrays, &count, &value};
    CHECK_OK(p->api.LaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, p->stream, params, nullptr));
    torch.Settle();
    torch.Push();
    torch.Check(arena, 4 * kMi, 5);
  }
}

// What was given up is reached from the arena's start, where no block lies.
void ArenaReach(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(16 * kMi), part = arena + 8 * kMi;
  torch.Fill(arena, 16 * kMi, 3);
  for (int i = 1; i < 8; ++i) torch.Fill(arena + i * 2 * kMi, 2 * kMi, 3);
  for (unsigned long long round = 0; round < 4; ++round) {
    torch.Pass(part, 8 * kMi);
    torch.Settle();
    torch.Push();
    torch.Fill(arena, 16 * kMi, round);
    torch.Push();
    torch.Check(arena, 16 * kMi, round);
  }
}

// Somebody fills it while memory suffices, and nobody looks.
void ArenaUnseen(Program* p) {
  Torch torch(p);
  const CUdeviceptr arena = torch.Segment(4 * kMi), small = torch.Segment(2 * kMi);
  for (int round = 0; round < 3; ++round) {
    torch.HandOut(arena, 4 * kMi);
    torch.Fill(arena, 4 * kMi, 1);
    if (round == 2) break;
    torch.TakeBack(arena, 4 * kMi);
    torch.Settle();
    torch.Push();
  }
  const uint64_t rests = Torch::Statistics().rests;
  torch.FreeOthers();
  torch.Fill(arena, 4 * kMi, 1);
  torch.HandOut(small, 4096);
  torch.Fill(small, 4096, 1);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  torch.TakeBack(arena, 4 * kMi);
  while (Torch::Statistics().rests == rests) {
    torch.Fill(small, 4096, 1);
    CHECK_OK(p->api.StreamSynchronize(p->stream));
    usleep(10'000);
  }
  torch.Fill(arena, 4 * kMi, 9);
  CHECK_OK(p->api.StreamSynchronize(p->stream));
  torch.AllocateOthers();
  torch.PushUntilAllHasLeft();
  torch.TakeBack(small, 4096);
  for (int i = 0; i < 5; ++i) torch.PushSilently();
  torch.Check(arena, 4 * kMi, 9);
}

// The driver's pools had it back, and gave it to somebody who reports nothing.
void AsyncReuse(Program* p) {
  Torch torch(p);
  for (unsigned long long round = 0; round < 6; ++round) {
    CUdeviceptr m = 0, again = 0;
    CHECK_OK(GET(cuMemAllocAsync, "cuMemAllocAsync")(&m, 4 * kMi, p->stream));
    torch.Pass(m, 4 * kMi);
    CHECK_OK(GET(cuMemFreeAsync, "cuMemFreeAsync")(m, p->stream));
    CHECK_OK(GET(cuMemAllocAsync, "cuMemAllocAsync")(&again, 4 * kMi, p->stream));
    CHECK(again == m);
    torch.Fill(again, 4 * kMi, round);
    torch.Settle();
    torch.Push();
    torch.Check(again, 4 * kMi, round);
    CHECK_OK(GET(cuMemFreeAsync, "cuMemFreeAsync")(again, p->stream));
  }
}

// Code reads a little past a block's end, by a pointer into it, where others end what is likely.
void PastTheEndFromWithin(Program* p) {
  Torch torch(p);
  const CUdeviceptr segment = torch.Segment(12 * kMi), free = segment + 6 * kMi;
  torch.HandOut(segment, 6 * kMi);
  torch.Fill(segment, 6 * kMi, 7);
  p->Launch(p->add_constant, segment + 2 * kMi, 8, 0);
  p->Launch(p->add_constant, segment + kMi, 8, 0);
  for (int round = 0; round < 12; ++round) {
    if (round % 4 == 0) {
      torch.Pass(free, 6 * kMi);
      torch.Settle();
    }
    torch.Push();
    p->Launch(p->add_constant, segment + kMi, 5 * kMi / kWordBytes + 8, 0);
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  }
  torch.Check(segment, 6 * kMi, 7);
}

// A block of many arrays. Who takes the first of them does not have all the others come.
void FlatArrays(Program* p) {
  Torch torch(p);
  const CUdeviceptr flat = torch.Segment(12 * kMi), other = torch.Segment(8 * kMi);
  torch.HandOut(flat, 12 * kMi);
  torch.HandOut(other, 8 * kMi);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 6; ++i) torch.Fill(flat + i * 2 * kMi, 2 * kMi, 1);
  }
  const uint64_t before = Torch::Statistics().bytes_in;
  for (int round = 0; round < 50; ++round) {
    torch.Fill(flat, 2 * kMi, 1);
    torch.Fill(other, 8 * kMi, 1);
    CHECK_OK(p->api.StreamSynchronize(p->stream));
  }
  std::fprintf(stderr, "came: %llu MiB\n",
               static_cast<unsigned long long>((Torch::Statistics().bytes_in - before) / kMi));
  // All 12 MiB of it each time would be 400.
  CHECK(Torch::Statistics().bytes_in - before <= 100 * kMi);
  torch.Check(flat, 2 * kMi, 1);
}

// Who opened PyTorch may close it again.
void Closed(Program* p) {
  void* const library = dlopen("libc10_cuda.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail(dlerror());
  p->Start();
  CHECK(dlclose(library) == 0);
  CHECK(dlopen("libc10.so", RTLD_NOW | RTLD_NOLOAD) != nullptr);
}

}  // namespace

void ReportBlocks(Program* p, const std::string& name) {
  const std::pair<const char*, void (*)(Program*)> cases[] = {
      {"steps", &Steps},
      {"adjacent", &Adjacent},
      {"strays", &Strays},
      {"wrapped", &Wrapped},
      {"words", &Words},
      {"captured", &Captured},
      {"inputs", &Inputs},
      {"table", &Table},
      {"past_the_end", &PastTheEnd},
      {"restored", &Restored},
      {"freed", &FreedSegments},
      {"arena_edge", &ArenaEdge},
      {"arena_reuse", &ArenaReuse},
      {"arena_reach", &ArenaReach},
      {"async_reuse", &AsyncReuse},
      {"past_within", &PastTheEndFromWithin},
      {"arena_behind", &ArenaBehind},
      {"arena_shared", &ArenaShared},
      {"arena_of_graph", &ArenaOfGraph},
      {"arena_half", &ArenaHalf},
      {"arena_before", &ArenaBefore},
      {"arena_rested", &ArenaRested},
      {"arena_by_heart", &ArenaByHeart},
      {"arena_table", &ArenaTable},
      {"arena_unknown", &ArenaUnknown},
      {"arena_unseen", &ArenaUnseen},
      {"closed", &Closed},
      {"flat", &FlatArrays},
      {"nonsense", &Nonsense}};
  for (const auto& [known, run] : cases) {
    if (name == known) return run(p);
  }
  Fail("no case " + name);
}
