// What the driver says of copies and fills of a mapping that concern two devices: of which the
// mapping names its own alone or both, made in either's context, with the other end on either or on
// the host. A process tries one case after another; where the driver ends it, a new one goes on.
// Lines of: answer (a CUresult, "wrong" where the bytes are, "crash"), and what was tried.
// nvcc -std=c++17 -O2 -arch=sm_90 -o peer_copies peer_copies.cu -lcuda
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "probe.h"

namespace {

constexpr size_t kSize = 2 * kMiB;

struct Side {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr plain = 0, mapped[2][2] = {};  // By where it lies, and whether both are named.
};
Side sides[2];
char* host = nullptr;

// Memory of device 0; where 1 is asked for, of the host.
CUdeviceptr Map(int on_host, int both) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {on_host ? CU_MEM_LOCATION_TYPE_HOST_NUMA : CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemGenericAllocationHandle handle;
  CU(cuMemCreate(&handle, kSize, &prop, 0));
  CUdeviceptr va;
  CU(cuMemAddressReserve(&va, kSize, 0, 0, 0));
  CU(cuMemMap(va, kSize, 0, handle, 0));
  const CUmemAccessDesc access[2] = {
      {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
      {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  CU(cuMemSetAccess(va, kSize, access, both ? 2 : 1));
  return va;
}

void SetUp() {
  CU(cuInit(0));
  for (int i = 0; i < 2; ++i) {
    CU(cuDevicePrimaryCtxRetain(&sides[i].context, i));
    CU(cuCtxSetCurrent(sides[i].context));
    CU(cuStreamCreate(&sides[i].stream, CU_STREAM_NON_BLOCKING));
    CU(cuMemAlloc(&sides[i].plain, kSize));
    CU(cuMemAllocHost(reinterpret_cast<void**>(&host), kSize));
  }
  CU(cuCtxSetCurrent(sides[0].context));
  for (int h = 0; h < 2; ++h) {
    for (int both = 0; both < 2; ++both) sides[0].mapped[h][both] = Map(h, both);
  }
}

template <typename Rows>
Rows InRows(CUdeviceptr to, CUdeviceptr from) {
  Rows r{};
  r.srcMemoryType = r.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  r.srcDevice = from;
  r.dstDevice = to;
  r.WidthInBytes = r.srcPitch = r.dstPitch = kSize / 64;
  r.Height = 64;
  return r;
}

using Call = CUresult (*)(CUdeviceptr to, CUdeviceptr from, CUstream stream);
const struct {
  const char* name;
  Call call;
} kCalls[] = {
    {"cuMemcpyAsync",
     [](CUdeviceptr t, CUdeviceptr f, CUstream s) { return cuMemcpyAsync(t, f, kSize, s); }},
    {"cuMemcpyDtoDAsync",
     [](CUdeviceptr t, CUdeviceptr f, CUstream s) { return cuMemcpyDtoDAsync(t, f, kSize, s); }},
    {"cuMemcpy", [](CUdeviceptr t, CUdeviceptr f, CUstream) { return cuMemcpy(t, f, kSize); }},
    {"cuMemcpy2DAsync",
     [](CUdeviceptr t, CUdeviceptr f, CUstream s) {
       const auto rows = InRows<CUDA_MEMCPY2D>(t, f);
       return cuMemcpy2DAsync(&rows, s);
     }},
    {"cuMemcpy3DAsync",
     [](CUdeviceptr t, CUdeviceptr f, CUstream s) {
       auto rows = InRows<CUDA_MEMCPY3D>(t, f);
       rows.Depth = 1;
       rows.srcHeight = rows.dstHeight = 64;
       return cuMemcpy3DAsync(&rows, s);
     }},
    {"cuMemcpyBatchAsync",
     [](CUdeviceptr t, CUdeviceptr f, CUstream s) {
       size_t size = kSize, first = 0;
       CUmemcpyAttributes attributes{};
       attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
       return cuMemcpyBatchAsync(&t, &f, &size, 1, &attributes, &first, 1, s);
     }},
    {"cuMemcpyPeerAsync",
     [](CUdeviceptr t, CUdeviceptr f, CUstream s) {
       const auto of = [](CUdeviceptr p) { return sides[p == sides[1].plain].context; };
       return cuMemcpyPeerAsync(t, of(t), f, of(f), kSize, s);
     }},
};
constexpr int kMost = sizeof(kCalls) / sizeof(*kCalls) * 2 * 2 * 2 * 3 * 2;

// Says nothing before the answer is there.
void Try(int number) {
  int rest = number;
  const auto next = [&](int count) {
    const int value = rest % count;
    rest /= count;
    return value;
  };
  const int back = next(2), other = next(3), by = next(2), both = next(2), on_host = next(2);
  const auto& call = kCalls[rest];
  const CUdeviceptr mapped = sides[0].mapped[on_host][both];
  const CUdeviceptr end = other == 2 ? reinterpret_cast<CUdeviceptr>(host) : sides[other].plain;
  std::printf("%-18s %s, naming %s, %s %s, by %d: ", call.name, on_host ? "host  " : "device",
              both ? "both" : "its own", back ? "from" : "to  ",
              other == 2 ? "the host" : (other ? "device 1" : "device 0"), by);
  std::fflush(stdout);
  CU(cuCtxSetCurrent(sides[0].context));
  std::memset(host, 1, kSize);
  CU(cuMemcpyHtoD(mapped, host, kSize));
  CU(cuCtxSetCurrent(sides[other == 1].context));
  std::memset(host, 2, kSize);
  CU(cuMemcpyHtoD(sides[other == 1].plain, host, kSize));
  CU(cuCtxSetCurrent(sides[by].context));
  const CUresult result =
      back ? call.call(mapped, end, sides[by].stream) : call.call(end, mapped, sides[by].stream);
  const CUresult done = result != CUDA_SUCCESS ? result : cuCtxSynchronize();
  if (done != CUDA_SUCCESS) {
    std::printf("%d\n", static_cast<int>(done));
    return;
  }
  char byte = 0;
  if (back || other != 2) {
    CU(cuCtxSetCurrent(sides[!back && other == 1].context));
    CU(cuMemcpyDtoH(host, back ? mapped : sides[other].plain, kSize));
  }
  byte = host[kSize - 1];
  std::printf("%s\n", byte == (back ? 2 : 1) ? "0" : "wrong");
}

}  // namespace

int main() {
  for (int next = 0; next < kMost;) {
    int at[2];
    CU(pipe(at));
    const pid_t child = fork();
    if (child == 0) {
      SetUp();
      for (int i = next; i < kMost; ++i) {
        if (write(at[1], &i, sizeof(i)) != sizeof(i)) return 1;
        Try(i);
        std::fflush(stdout);
      }
      return 0;
    }
    close(at[1]);
    int last = next;
    for (int i; read(at[0], &i, sizeof(i)) == sizeof(i);) last = i;
    close(at[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) std::printf("crash, signal %d\n", WTERMSIG(status));
    std::fflush(stdout);
    next = last + 1;
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) return 1;
  }
  return 0;
}
