// What begins and ends with contexts and streams, by the calls of every ABI.
#include <cudaTypedefs.h>

#include "tests/preload/program_calls.h"

namespace {

constexpr size_t kBytes = size_t{4} << 20;

void WorkIn(Program* p) {
  CHECK_OK(p->api.CtxSetCurrent(p->context));
  p->LoadKernels();
  CUdeviceptr left = 0;
  CHECK_OK(p->api.MemAlloc(&left, kBytes));
  p->WorkBeyondMemory(kBytes);
}

}  // namespace

// What ends one begins the next anew, with all that vramspan does for it.
void EndContexts(Program* p, const std::string& name) {
  CHECK_OK(p->api.Init(0));
  CHECK_OK(p->api.DeviceGet(&p->device, 0));
  for (int round = 0; round < 2; ++round) {
    if (name == "cuCtxDestroy") {
      CHECK_OK(p->api.CtxCreate(&p->context, nullptr, 0, p->device));
      WorkIn(p);
      CHECK_OK(GET(cuCtxDestroy, name)(p->context));
    } else {
      CHECK_OK(p->api.PrimaryRetain(&p->context, p->device));
      WorkIn(p);
      CHECK_OK(GET(cuDevicePrimaryCtxRelease, name)(p->device));
    }
  }
}

// Streams that carried work before memory ran short, and are gone when it does: nobody asks the
// driver about them any more.
void EndStreams(Program* p, const std::string& name) {
  p->Start();
  CUdeviceptr memory = 0;
  CHECK_OK(p->api.MemAlloc(&memory, kBytes));
  const auto destroy = GET(cuStreamDestroy, name);
  for (int i = 0; i < 4; ++i) {
    Program brief = *p;
    CHECK_OK(p->api.StreamCreate(&brief.stream, CU_STREAM_NON_BLOCKING));
    brief.Launch(brief.fill_hash, memory, kBytes / 8, 1);
    CHECK_OK(p->api.StreamSynchronize(brief.stream));
    CHECK_OK(destroy(brief.stream));
  }
  p->WorkBeyondMemory(kBytes);
  CHECK_OK(p->api.MemFree(memory));
  CHECK(Get<unsigned long long (*)()>("simcudaStaleHandleUses")() == 0);
}

// Memory that was freed in stream order is given back by whatever waits for it.
void PoolsAreTrimmedBySynchronising(Program* p) {
  p->Start();
  CUmemoryPool pool = nullptr;
  CHECK_OK(GET(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool")(&pool, p->device));
  CUevent event = nullptr;
  CHECK_OK(GET(cuEventCreate, "cuEventCreate")(&event, 0));
  const auto check = [&](const std::string& name, const std::function<CUresult()>& wait) {
    CUdeviceptr m = 0;
    CHECK_OK(GET(cuMemAllocAsync, "cuMemAllocAsync")(&m, kBytes, p->stream));
    CHECK_OK(GET(cuMemFreeAsync, "cuMemFreeAsync")(m, p->stream));
    CHECK_OK(GET(cuEventRecord, "cuEventRecord")(event, p->stream));
    CHECK_OK(wait());
    cuuint64_t reserved = 0;
    CHECK_OK(GET(cuMemPoolGetAttribute, "cuMemPoolGetAttribute")(
        pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
    if (reserved != 0) Fail(name + " leaves " + std::to_string(reserved));
  };
  for (const std::string name : {"cuStreamSynchronize", "cuStreamSynchronize_ptsz"}) {
    check(name, [&] { return GET(cuStreamSynchronize, name)(p->stream); });
  }
  check("cuEventSynchronize", [&] { return GET(cuEventSynchronize, "cuEventSynchronize")(event); });
  check("cuCtxSynchronize", [&] { return Get<PFN_cuCtxSynchronize_v2000>("cuCtxSynchronize")(); });
  check("cuCtxSynchronize_v2",
        [&] { return Get<PFN_cuCtxSynchronize_v13000>("cuCtxSynchronize_v2")(p->context); });
  CHECK_OK(GET(cuEventDestroy, "cuEventDestroy_v2")(event));
}
