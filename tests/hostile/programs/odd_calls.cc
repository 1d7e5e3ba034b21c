// What the driver answers to odd calls on plain memory: hints that are for managed memory, frees
// and registrations of what is none of its kind, copies of nothing, and memory in captures.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

void Say(const char* what, CUresult result) {
  std::printf("%s: %d\n", what, static_cast<int>(result));
}

void Hints(CUdeviceptr p) {
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, gpu.device};
  const CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0};
  Say("prefetch here", cuMemPrefetchAsync(p, kBlock, here, 0, nullptr));
  Say("prefetch to the host", cuMemPrefetchAsync(p, kBlock, host, 0, nullptr));
  Say("mostly read", cuMemAdvise(p, kBlock, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  Say("better there", cuMemAdvise(p, kBlock, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
  int value = 0;
  Say("range",
      cuMemRangeGetAttribute(&value, sizeof(value), CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, kBlock));
}

void WhatItIs(CUdeviceptr p) {
  for (const size_t offset : {size_t{0}, size_t{1}, kBlock / 2, kBlock - 1}) {
    unsigned type = 0;
    int ordinal = -1;
    void* host = nullptr;
    CUdeviceptr device = 0, base = 0;
    size_t size = 0;
    Say("type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + offset));
    Say("device", cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p + offset));
    Say("host", cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p + offset));
    Say("address", cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p + offset));
    Say("range", cuMemGetAddressRange(&base, &size, p + offset));
    std::printf("type %u, device %d, address %d, base %d, size %zu\n", type, ordinal,
                device == p + offset, base == p, size);
  }
  int here = 0;
  unsigned type = 0;
  Say("of the stack", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                            reinterpret_cast<CUdeviceptr>(&here)));
  const unsigned sync = 1;
  Say("set", cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p));
}

void HostMemory(CUdeviceptr p) {
  constexpr size_t kBytes = 1 << 20;
  void* const pageable = std::aligned_alloc(4096, kBytes);
  void* const device = reinterpret_cast<void*>(p);
  Say("register", cuMemHostRegister(pageable, kBytes, 0));
  Say("register again", cuMemHostRegister(pageable, kBytes, 0));
  Say("unregister", cuMemHostUnregister(pageable));
  Say("unregister again", cuMemHostUnregister(pageable));
  Say("register device memory", cuMemHostRegister(device, kBytes, 0));
  Say("unregister device memory", cuMemHostUnregister(device));
  Say("free device memory as the host's", cuMemFreeHost(device));
  Say("free the host's memory", cuMemFree(reinterpret_cast<CUdeviceptr>(pageable)));
  std::free(pageable);
}

void Allocations(CUdeviceptr p) {
  CUdeviceptr q = 1;
  size_t pitch = 0;
  Say("free inside", cuMemFree(p + 512));
  Say("free nothing", cuMemFree(0));
  Say("nothing", cuMemAlloc(&q, 0));
  Say("everything", cuMemAlloc(&q, ~size_t{0}));
  Say("very much", cuMemAlloc(&q, size_t{1} << 60));
  Say("to nowhere", cuMemAlloc(nullptr, 16));
  Say("rows", cuMemAllocPitch(&q, &pitch, 1000, 1000, 4));
  std::printf("pitch %zu\n", pitch);
  Say("rows set", cuMemsetD2D8(q, pitch, 7, 1000, 1000));
  Say("rows freed", cuMemFree(q));
  Say("rows freed again", cuMemFree(q));
  size_t free = 0, total = 0, more = 0;
  Say("how much", cuMemGetInfo(&free, &total));
  Say("half an answer", cuMemGetInfo(nullptr, &more));
  Say("the other half", cuMemGetInfo(&more, nullptr));
}

void Copies(CUdeviceptr p, CUdeviceptr q) {
  char back[16] = {};
  Say("the last bytes", cuMemcpyDtoH(back, p + kBlock - sizeof(back), sizeof(back)));
  Say("no bytes", cuMemcpyDtoH(back, p, 0));
  Say("to nowhere", cuMemcpyDtoH(nullptr, p, sizeof(back)));
  Say("set nowhere", cuMemsetD8(0, 0, 16));
  Say("set none", cuMemsetD8(0, 0, 0));
  Say("onto itself", cuMemcpyDtoD(p, p, kBlock));
  Say("all", cuMemcpyDtoD(p, q, kBlock));
}

// Launches and copies in a graph, with an allocation that the mode allows or not.
void Capture(const std::vector<CUdeviceptr>& blocks, CUstreamCaptureMode mode) {
  const CUstream stream = MakeStream();
  CUgraph graph = nullptr;
  CUgraphExec run = nullptr;
  CUdeviceptr q = 0;
  Say("begin", cuStreamBeginCapture(stream, mode));
  Add(blocks[0], kBlockWords, 1, stream);
  Say("copy", cuMemcpyDtoDAsync(blocks[1], blocks[0], kBlock, stream));
  Say("allocate", cuMemAlloc(&q, size_t{1} << 20));
  Say("end", cuStreamEndCapture(stream, &graph));
  if (graph == nullptr) return;
  Say("instantiate", cuGraphInstantiate(&run, graph, 0));
  for (int i = 0; i < 3; ++i) {
    AddToAll({blocks.begin() + 2, blocks.end()}, stream);  // What is in the graph leaves.
    Say("launch", cuGraphLaunch(run, stream));
  }
  Say("synchronize", cuStreamSynchronize(stream));
  std::printf("%zu words are wrong\n", WrongWords(blocks[1], 3));
  Say("destroy", cuGraphExecDestroy(run));
  Say("free", cuMemFree(q));
}

}  // namespace

HOSTILE_PROGRAM(odd_calls) {
  Start();
  const auto blocks = Blocks(16);
  AddToAll({blocks.begin() + 2, blocks.end()}, nullptr);
  Hints(blocks[0]);
  WhatItIs(blocks[1]);
  HostMemory(blocks[2]);
  Allocations(blocks[3]);
  Copies(blocks[4], blocks[5]);
  Capture(blocks, CU_STREAM_CAPTURE_MODE_GLOBAL);
  Capture(blocks, CU_STREAM_CAPTURE_MODE_RELAXED);
  Say("reset", cuDevicePrimaryCtxReset(gpu.device));
  CUdeviceptr p = 0;
  Say("allocate in what is gone", cuMemAlloc(&p, size_t{1} << 20));
  return 0;
}
