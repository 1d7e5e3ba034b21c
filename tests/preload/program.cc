// A program that knows nothing of vramspan: program ROUTE SCENARIO. Prints "ok" and ends with 0
// where all results are right; else a line says what is not.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/kernels/test_kernels.h"
#include "tests/preload/program_api.h"
#include "tests/preload/program_scenarios.h"

namespace {

using vramspan_test::HashWord;

void Start(Program* p) {
  CHECK_OK(p->api.Init(0));
  CHECK_OK(p->api.DeviceGet(&p->device, 0));
  CHECK_OK(p->api.PrimaryRetain(&p->context, p->device));
  CHECK_OK(p->api.CtxSetCurrent(p->context));
  p->LoadKernels();
}

// Twice the device's memory, filled, worked on in rounds, and checked word by word.
void Doubled(Program* p) {
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  constexpr size_t kBytes = size_t{8} << 20;
  const size_t count = 2 * total / kBytes;
  std::vector<CUdeviceptr> buffers(count);
  for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBytes));
  p->Work(buffers, kBytes, 3);
  for (const CUdeviceptr b : buffers) CHECK_OK(p->api.MemFree(b));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) Fail("usage: program ROUTE SCENARIO");
  const std::string scenario = argv[2];
  Program p{OpenApi(argv[1])};
  if (scenario == "doubled") {
    Start(&p);
    Doubled(&p);
  } else {
    Fail("no scenario " + scenario);
  }
  std::puts("ok");
  return 0;
}
