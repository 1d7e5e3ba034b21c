// A process of tests of shared devices: does what its arguments say, one behind the other.
//
//   alloc MIB      cuMemAlloc      create MIB    cuMemCreate, without a context
//   exec           again, as the rest of the arguments say
//   ask            says `free MIB`, what cuMemGetInfo answers
//   fill           cuMemCreate of 2 MiB each until there is none left; says `took MIB`
//   wait           says `waits`, and goes on when there is a line on stdin
#include <cuda.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kMiB = size_t{1} << 20;

void Must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  fprintf(stderr, "%s: %d\n", what, result);
  exit(1);
}

void NeedContext() {
  CUcontext context = nullptr;
  Must(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  if (context != nullptr) return;
  Must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  Must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

CUresult Create(size_t bytes) {
  CUmemAllocationProp prop = {};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle = 0;
  return cuMemCreate(&handle, bytes, &prop, 0);
}

}  // namespace

int main(int argc, char** argv) {
  Must(cuInit(0), "cuInit");
  for (int i = 1; i < argc; ++i) {
    const char* const what = argv[i];
    if (strcmp(what, "alloc") == 0) {
      NeedContext();
      CUdeviceptr address = 0;
      Must(cuMemAlloc(&address, strtoul(argv[++i], nullptr, 10) * kMiB), "cuMemAlloc");
    } else if (strcmp(what, "create") == 0) {
      Must(Create(strtoul(argv[++i], nullptr, 10) * kMiB), "cuMemCreate");
    } else if (strcmp(what, "exec") == 0) {
      argv[i] = argv[0];
      execv("/proc/self/exe", argv + i);
      return 2;
    } else if (strcmp(what, "ask") == 0) {
      NeedContext();
      size_t free = 0, total = 0;
      Must(cuMemGetInfo(&free, &total), "cuMemGetInfo");
      printf("free %zu\n", free / kMiB);
    } else if (strcmp(what, "fill") == 0) {
      size_t took = 0;
      while (Create(2 * kMiB) == CUDA_SUCCESS) took += 2;
      printf("took %zu\n", took);
    } else if (strcmp(what, "wait") == 0) {
      puts("waits");
      fflush(stdout);
      char line[8];
      if (fgets(line, sizeof(line), stdin) == nullptr) return 0;
    } else {
      return 3;
    }
    fflush(stdout);
  }
  return 0;
}
