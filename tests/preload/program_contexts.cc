// What begins and ends with contexts and streams, by the calls of every ABI.
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
  for (int round = 0; round < 3; ++round) {
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
