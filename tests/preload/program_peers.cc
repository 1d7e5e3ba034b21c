// Two devices in one process: memory of each that the other copies and works on.
#include <atomic>

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

// All that one call copies, in rows.
template <typename Rows>
Rows InRows(CUdeviceptr to, CUdeviceptr from) {
  Rows rows{};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = from;
  rows.dstDevice = to;
  rows.WidthInBytes = rows.srcPitch = rows.dstPitch = kBytes / 64;
  rows.Height = 64;
  if constexpr (requires { rows.Depth; }) {
    rows.Depth = 1;
    rows.srcHeight = rows.dstHeight = 64;
  }
  return rows;
}

// The left half of all rows but the first, the right half of those, and the first.
template <typename Rows>
CUresult ByParts(CUdeviceptr to, CUdeviceptr from,
                 const std::function<CUresult(const Rows*)>& call) {
  Rows first = InRows<Rows>(to, from);
  Rows left = first;
  left.srcY = left.dstY = 1;
  --left.Height;
  left.WidthInBytes /= 2;
  Rows right = left;
  right.srcXInBytes = right.dstXInBytes = left.WidthInBytes;
  first.Height = 1;
  for (const Rows* part : {&left, &right, &first}) {
    if (const CUresult result = call(part); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult CopyByBatch(CUdeviceptr to, CUdeviceptr from, CUstream stream) {
  CUdeviceptr tos[] = {to, to + kHalf}, froms[] = {from, from + kHalf};
  size_t sizes[] = {kHalf, kHalf}, first = 0;
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return GET(cuMemcpyBatchAsync, "cuMemcpyBatchAsync_v2")(tos, froms, sizes, 2, &attributes, &first,
                                                          1, stream);
}

CUresult CopyByBatchOfRows(CUdeviceptr to, CUdeviceptr from, CUstream stream) {
  CUDA_MEMCPY3D_BATCH_OP op{};
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = from;
  op.dst.op.ptr.ptr = to;
  op.extent = {kBytes / 64, 64, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return GET(cuMemcpy3DBatchAsync, "cuMemcpy3DBatchAsync_v2")(1, &op, 0, stream);
}

CUresult CopyByGraph(CUdeviceptr to, CUdeviceptr from, CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CUcontext current = nullptr;
  CHECK_OK(GET(cuCtxGetCurrent, "cuCtxGetCurrent")(&current));
  CHECK_OK(GET(cuGraphCreate, "cuGraphCreate")(&graph, 0));
  const auto rows = InRows<CUDA_MEMCPY3D>(to, from);
  CUresult result =
      GET(cuGraphAddMemcpyNode, "cuGraphAddMemcpyNode")(&node, graph, nullptr, 0, &rows, current);
  if (result == CUDA_SUCCESS) {
    result = GET(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags")(&exec, graph, 0);
  }
  if (result == CUDA_SUCCESS) {
    result = GET(cuGraphLaunch, "cuGraphLaunch")(exec, stream);
    CHECK_OK(GET(cuStreamSynchronize, "cuStreamSynchronize")(stream));
    CHECK_OK(GET(cuGraphExecDestroy, "cuGraphExecDestroy")(exec));
  }
  CHECK_OK(GET(cuGraphDestroy, "cuGraphDestroy")(graph));
  return result;
}

struct NamedCopy {
  const char* name;
  Copy copy;
};

// What the driver makes by way of the host as well, where devices do not reach each other.
std::vector<NamedCopy> LinearCopies(Side* a, Side* b) {
  return {
      {"cuMemcpyAsync", Later(GET(cuMemcpyAsync, "cuMemcpyAsync"))},
      {"cuMemcpyAsync_ptsz", Later(GET(cuMemcpyAsync, "cuMemcpyAsync_ptsz"))},
      {"cuMemcpyDtoDAsync_v2", Later(GET(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"))},
      {"cuMemcpyDtoDAsync_v2_ptsz", Later(GET(cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2_ptsz"))},
      {"cuMemcpy", Now(GET(cuMemcpy, "cuMemcpy"))},
      {"cuMemcpy_ptds", Now(GET(cuMemcpy, "cuMemcpy_ptds"))},
      {"cuMemcpyDtoD_v2", Now(GET(cuMemcpyDtoD, "cuMemcpyDtoD_v2"))},
      {"cuMemcpyDtoD_v2_ptds", Now(GET(cuMemcpyDtoD, "cuMemcpyDtoD_v2_ptds"))},
      {"cuMemcpyPeerAsync",
       [a, b](CUdeviceptr t, CUdeviceptr f, CUstream s) {
         const bool to_a = t == a->buffers[0] || t == a->buffers[1];
         return GET(cuMemcpyPeerAsync, "cuMemcpyPeerAsync")(
             t, (to_a ? a : b)->program.context, f, (to_a ? b : a)->program.context, kBytes, s);
       }},
  };
}

std::vector<NamedCopy> RowsAndBatches() {
  return {
      {"cuMemcpy2D_v2",
       [](CUdeviceptr t, CUdeviceptr f, CUstream) {
         return ByParts<CUDA_MEMCPY2D>(t, f, [](const CUDA_MEMCPY2D* rows) {
           return GET(cuMemcpy2D, "cuMemcpy2D_v2")(rows);
         });
       }},
      {"cuMemcpy2DAsync_v2",
       [](CUdeviceptr t, CUdeviceptr f, CUstream s) {
         return ByParts<CUDA_MEMCPY2D>(t, f, [s](const CUDA_MEMCPY2D* rows) {
           return GET(cuMemcpy2DAsync, "cuMemcpy2DAsync_v2")(rows, s);
         });
       }},
      {"cuMemcpy3DAsync_v2",
       [](CUdeviceptr t, CUdeviceptr f, CUstream s) {
         return ByParts<CUDA_MEMCPY3D>(t, f, [s](const CUDA_MEMCPY3D* rows) {
           return GET(cuMemcpy3DAsync, "cuMemcpy3DAsync_v2")(rows, s);
         });
       }},
      {"cuMemcpy3D_v2",
       [](CUdeviceptr t, CUdeviceptr f, CUstream) {
         return ByParts<CUDA_MEMCPY3D>(t, f, [](const CUDA_MEMCPY3D* rows) {
           return GET(cuMemcpy3D, "cuMemcpy3D_v2")(rows);
         });
       }},
      {"cuMemcpyBatchAsync_v2", CopyByBatch},
      {"cuMemcpy3DBatchAsync_v2", CopyByBatchOfRows},
  };
}

// From the first to the second, by every call, each in either's stream; then back.
void CopyBothWays(Side* a, Side* b, const std::vector<NamedCopy>& calls) {
  for (const NamedCopy& call : calls) {
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
void CopyBothWays(Side* a, Side* b) {
  CopyBothWays(a, b, LinearCopies(a, b));
  CopyBothWays(a, b, RowsAndBatches());
  CopyBothWays(a, b, {{"a graph", CopyByGraph}});
}

// Copies of the first's memory in the second's context, with no other memory of a device.
void CopyToHostBy(Side* a, Side* by) {
  a->Fill(30);
  by->Enter();
  std::vector<Word> words(kWords);
  for (size_t i = 0; i < kBuffers; ++i) {
    CHECK_OK(by->program.api.MemcpyDtoH(words.data(), a->buffers[i], kBytes));
    for (size_t w = 0; w < kWords; ++w) CHECK(words[w] == Program::Word(w, 30 + i));
    for (Word& word : words) word += 5;
    CHECK_OK(by->program.api.MemcpyHtoD(a->buffers[i], words.data(), kBytes));
  }
  CHECK_OK(by->program.api.CtxSynchronize());
  for (size_t i = 0; i < kBuffers; ++i) a->Check(a->buffers[i], 30 + i, 5);
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
}

// Copies of one device's memory in the other's context.
void CopyFromAfar(Program* p) {
  CHECK_OK(p->api.Init(0));
  Side a(p, 0), b(p, 1);
  a.Allocate();
  CopyToHostBy(&a, &b);
}

// Devices that do not reach each other.
void CopyApart(Program* p) {
  CHECK_OK(p->api.Init(0));
  Side a(p, 0), b(p, 1);
  b.Enter();
  const auto enable = GET(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess");
  CHECK(enable(a.program.context, 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  a.Allocate();
  b.Allocate();
  for (int round = 0; round < 2; ++round) {
    a.Fill(0);
    b.Fill(10);
    CopyBothWays(&a, &b, LinearCopies(&a, &b));
    CopyBothWays(&a, &b, RowsAndBatches());
  }
  // What the driver refuses for another reason is not made again.
  Say("batch, legacy stream", CopyByBatch(b.buffers[1], a.buffers[0], nullptr));
  Say("batch of rows, legacy stream", CopyByBatchOfRows(b.buffers[1], a.buffers[0], nullptr));
}

// What is disabled is so, where no copy has needed it: the context dies of a touch.
void PeersDisabled(Program* p) {
  CHECK_OK(p->api.Init(0));
  Side a(p, 0), b(p, 1);
  a.Allocate();
  a.Fill(0);
  b.Enter();
  CHECK_OK(GET(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess")(a.program.context, 0));
  for (const CUdeviceptr m : a.buffers) b.Add(m, 1);
  b.Wait();
  CHECK_OK(GET(cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess")(a.program.context));
  b.program.Launch(b.program.add_constant, a.buffers[0], kWords, 1);
  CHECK(p->api.StreamSynchronize(b.program.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
}

// Memory becomes short while the other device has work on it that was submitted before and has not
// begun.
void PeersInFlight(Program* p) {
  CHECK_OK(p->api.Init(0));
  Side a(p, 0), b(p, 1);
  a.Allocate();
  a.Fill(0);
  b.Enter();
  CHECK_OK(GET(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess")(a.program.context, 0));
  CHECK_OK(p->api.StreamCreate(&b.program.stream, CU_STREAM_NON_BLOCKING));
  // Kernels are loaded when they are first launched, which waits for the context.
  for (const CUdeviceptr m : a.buffers) b.Add(m, 1);
  b.Wait();
  unsigned* go = nullptr;
  CHECK_OK(GET(cuMemHostAlloc, "cuMemHostAlloc")(reinterpret_cast<void**>(&go), sizeof(*go),
                                                 CU_MEMHOSTALLOC_PORTABLE));
  *go = 0;
  CHECK_OK(GET(cuStreamWaitValue32, "cuStreamWaitValue32_v2")(
      b.program.stream, reinterpret_cast<CUdeviceptr>(go), 1, CU_STREAM_WAIT_VALUE_EQ));
  for (const CUdeviceptr m : a.buffers) b.Add(m, 1);
  // As much again, which is worked on without a pause: what lay there before would leave for it.
  CUdeviceptr before[kBuffers];
  std::copy(std::begin(a.buffers), std::end(a.buffers), before);
  a.Allocate();
  a.Fill(50);
  for (int round = 0; round < 4; ++round) {
    for (const CUdeviceptr m : a.buffers) a.Add(m, 1);
    a.Wait();
  }
  std::atomic_ref(*go).store(1);
  b.Enter();
  b.Wait();
  for (size_t i = 0; i < kBuffers; ++i) {
    a.Check(before[i], i, 2);
    a.Check(a.buffers[i], 50 + i, 4);
  }
  CHECK_OK(GET(cuMemFreeHost, "cuMemFreeHost")(go));
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
