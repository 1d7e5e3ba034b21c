// Two devices in one process: memory of each that the other copies and works on.
#include "tests/preload/program_calls.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kHalf = kBytes / 2;  // A chunk, where chunks are small.
constexpr size_t kBuffers = 6;
using Word = unsigned long long;
constexpr size_t kWords = kBytes / sizeof(Word);

struct Side {
  explicit Side(Program* p, CUdevice device) : program(*p) {
    program.device = device;
    CHECK_OK(program.api.PrimaryRetain(&program.context, device));
    Enter();
    program.LoadKernels();
    CHECK_OK(program.api.ModuleGetFunction(&copy, program.module, "copy"));
  }
  void Enter() { CHECK_OK(program.api.CtxSetCurrent(program.context)); }
  void Wait() { CHECK_OK(program.api.StreamSynchronize(program.stream)); }
  void Allocate() {
    Enter();
    for (CUdeviceptr& b : buffers) CHECK_OK(program.api.MemAlloc(&b, kBytes));
  }
  void Fill(Word seed) {
    Enter();
    for (size_t i = 0; i < kBuffers; ++i) {
      program.Launch(program.fill_hash, buffers[i], kWords, seed + i);
    }
    Wait();
  }
  // A launch for each half, so that each is named by a pointer.
  void Add(CUdeviceptr buffer, Word value) {
    program.Launch(program.add_constant, buffer, kWords / 2, value);
    program.Launch(program.add_constant, buffer + kHalf, kWords / 2, value);
  }
  void CopyByKernel(CUdeviceptr to, CUdeviceptr from) {
    size_t count = kWords / 2;
    for (size_t at = 0; at < kBytes; at += kHalf) {
      CUdeviceptr t = to + at, f = from + at;
      void* params[] = {&t, &f, &count};
      CHECK_OK(
          program.api.LaunchKernel(copy, 16, 1, 1, 64, 1, 1, 0, program.stream, params, nullptr));
    }
  }
  // Every word is that of the seed, and so much more.
  void Check(CUdeviceptr buffer, Word seed, Word more) {
    Enter();
    std::vector<Word> words(kWords);
    CHECK_OK(program.api.MemcpyDtoH(words.data(), buffer, kBytes));
    for (size_t w = 0; w < kWords; ++w) {
      if (words[w] == Program::Word(w, seed) + more) continue;
      Fail("word " + std::to_string(w) + " of seed " + std::to_string(seed) + " is wrong");
    }
  }

  Program program;
  CUfunction copy = nullptr;
  CUdeviceptr buffers[kBuffers] = {};
};

void Say(const std::string& what, CUresult result) {
  std::printf("%s: %d\n", what.c_str(), static_cast<int>(result));
}

using Copy = std::function<CUresult(CUdeviceptr to, CUdeviceptr from, CUstream)>;

template <typename F>
Copy Now(F call) {
  return [call](CUdeviceptr to, CUdeviceptr from, CUstream) { return call(to, from, kBytes); };
}

template <typename F>
Copy Later(F call) {
  return [call](CUdeviceptr to, CUdeviceptr from, CUstream stream) {
    return call(to, from, kBytes, stream);
  };
}

// From the first to the second, by every call, each in either's stream; then back.
void CopyBothWays(Side* a, Side* b) {
  struct {
    const char* name;
    Copy copy;
  } const calls[] = {
      {"cuMemcpyAsync", Later(GET(cuMemcpyAsync, "cuMemcpyAsync"))},
      {"cuMemcpyAsync_ptsz", Later(GET(cuMemcpyAsync, "cuMemcpyAsync_ptsz"))},
      {"cuMemcpyDtoDAsync_v2", Later(GET(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"))},
      {"cuMemcpyDtoDAsync_v2_ptsz", Later(GET(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2_ptsz"))},
      {"cuMemcpy", Now(GET(cuMemcpy, "cuMemcpy"))},
      {"cuMemcpy_ptds", Now(GET(cuMemcpy, "cuMemcpy_ptds"))},
      {"cuMemcpyDtoD_v2", Now(GET(cuMemcpyDtoD, "cuMemcpyDtoD_v2"))},
      {"cuMemcpyDtoD_v2_ptds", Now(GET(cuMemcpyDtoD, "cuMemcpyDtoD_v2_ptds"))},
      {"cuMemcpyPeerAsync",
       [&](CUdeviceptr t, CUdeviceptr f, CUstream s) {
         const bool to_a = t == a->buffers[0] || t == a->buffers[1];
         return GET(cuMemcpyPeerAsync, "cuMemcpyPeerAsync")(
             t, (to_a ? a : b)->program.context, f, (to_a ? b : a)->program.context, kBytes, s);
       }},
  };
  for (const auto& call : calls) {
    for (Side* by : {a, b}) {
      a->Enter();
      a->program.Launch(a->program.fill_hash, a->buffers[0], kWords, 70);
      a->Wait();
      by->Enter();
      const CUresult there = call.copy(b->buffers[1], a->buffers[0], by->program.stream);
      CHECK_OK(by->program.api.CtxSynchronize());
      b->Enter();
      b->Add(b->buffers[1], 1);
      b->Wait();
      by->Enter();
      const CUresult back = call.copy(a->buffers[1], b->buffers[1], by->program.stream);
      CHECK_OK(by->program.api.CtxSynchronize());
      a->Check(a->buffers[1], 70, 1);
      Say(call.name, there);
      Say(call.name, back);
    }
  }
}

// Device 1 works on every other buffer of device 0, which works on the rest, and copies from them.
void WorkOnEach(Side* a, Side* b, Word rounds) {
  a->Fill(0);
  b->Fill(100);
  for (Word round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < kBuffers; ++i) {
      Side* const by = i % 2 == 0 ? b : a;
      by->Enter();
      by->Add(a->buffers[i], 1);
    }
    b->Enter();
    b->CopyByKernel(b->buffers[round % kBuffers], a->buffers[0]);
  }
  a->Enter();
  a->Wait();
  b->Enter();
  b->Wait();
  for (size_t i = 0; i < kBuffers; ++i) a->Check(a->buffers[i], i, rounds);
  for (size_t i = 0; i < kBuffers && i < rounds; ++i) b->Check(b->buffers[i], 0, i + 1);
}

}  // namespace

void UsePeers(Program* p, const std::string& when) {
  CHECK_OK(p->api.Init(0));
  Side a(p, 0), b(p, 1);
  const auto enable = GET(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  const auto disable = GET(cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess");
  const auto enable_both = [&] {
    a.Enter();
    Say("enable 0 to 1", enable(b.program.context, 0));
    b.Enter();
    Say("enable 1 to 0", enable(a.program.context, 0));
    Say("enable again", enable(a.program.context, 0));
  };
  if (when == "before") enable_both();
  a.Allocate();
  b.Allocate();
  if (when != "before") {
    CopyBothWays(&a, &b);
    if (when == "never") return;
    enable_both();
  }
  WorkOnEach(&a, &b, 4);
  CopyBothWays(&a, &b);
  // Memory that is given back and handed out again.
  a.Enter();
  for (CUdeviceptr& m : a.buffers) CHECK_OK(p->api.MemFree(m));
  a.Allocate();
  WorkOnEach(&a, &b, 2);
  b.Enter();
  Say("disable", disable(a.program.context));
  Say("disable again", disable(a.program.context));
  CopyBothWays(&a, &b);
  b.Enter();
  Say("enable after that", enable(a.program.context, 0));
  WorkOnEach(&a, &b, 3);
  b.Enter();
  Say("disable at last", disable(a.program.context));
  // What was disabled is so: the context dies of it.
  b.program.Launch(b.program.add_constant, a.buffers[0], kWords, 1);
  Say("a touch", p->api.StreamSynchronize(b.program.stream));
}

// Contexts that go, and what was enabled with them.
void PeersEnd(Program* p) {
  CHECK_OK(p->api.Init(0));
  const auto enable = GET(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  Side a(p, 0);
  a.Allocate();
  a.Fill(0);
  for (int round = 0; round < 2; ++round) {
    Side b(p, 1);
    CHECK_OK(enable(a.program.context, 0));
    b.Add(a.buffers[0], 1);
    b.Wait();
    CHECK_OK(p->api.PrimaryReset(1));
    CHECK_OK(p->api.PrimaryRelease(1));
  }
  a.Check(a.buffers[0], 0, 2);
  Side b(p, 1);
  b.program.Launch(b.program.add_constant, a.buffers[0], kWords, 1);
  CHECK(p->api.StreamSynchronize(b.program.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Where the driver fails half-way, nobody has access: to what vramspan maps, nor to other memory.
void PeersRefused(Program* p) {
  CHECK_OK(p->api.Init(0));
  const auto enable = GET(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  const auto disable = GET(cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess");
  const auto fail = Get<int (*)(const char*, unsigned long long, long long, int)>("simcudaFail");
  Side a(p, 0), b(p, 1);
  a.Allocate();
  a.Fill(0);
  b.Enter();
  CHECK(fail("cuMemSetAccess", 3, 1, CUDA_ERROR_OUT_OF_MEMORY) == 0);
  CHECK(enable(a.program.context, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(disable(a.program.context) == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  CHECK_OK(enable(a.program.context, 0));
  for (const CUdeviceptr m : a.buffers) b.Add(m, 1);
  b.Wait();
  CHECK_OK(disable(a.program.context));
  CHECK(fail("cuMemSetAccess", 3, 1, CUDA_ERROR_OUT_OF_MEMORY) == 0);
  CHECK(enable(a.program.context, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  b.program.Launch(b.program.add_constant, a.buffers[0], kWords, 1);
  CHECK(p->api.StreamSynchronize(b.program.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  for (size_t i = 0; i < kBuffers; ++i) a.Check(a.buffers[i], i, 1);
}

// Memory of a pool that is opened to the other device after it was handed out; what the pool gives
// from then on is the driver's.
void PoolIsOpened(Program* p) {
  CHECK_OK(p->api.Init(0));
  Side a(p, 0), b(p, 1);
  a.Enter();
  CUmemoryPool pool = nullptr;
  CHECK_OK(GET(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool")(&pool, 0));
  const auto allocate = [&](CUdeviceptr* m) {
    CHECK_OK(GET(cuMemAllocAsync, "cuMemAllocAsync")(m, kBytes, a.program.stream));
  };
  for (size_t i = 0; i < 3; ++i) allocate(&a.buffers[i]);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 1},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK_OK(GET(cuMemPoolSetAccess, "cuMemPoolSetAccess")(pool, &access, 1));
  for (size_t i = 3; i < kBuffers; ++i) allocate(&a.buffers[i]);
  a.Fill(0);
  b.Enter();
  for (const CUdeviceptr m : a.buffers) b.Add(m, 1);
  b.Wait();
  for (size_t i = 0; i < kBuffers; ++i) a.Check(a.buffers[i], i, 1);
}
