// The program's own mappings: what is done to one handle or address concerns no other work.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/hostile/program.h"

using namespace hostile;  // NOLINT

namespace {

constexpr size_t kPiece = size_t{16} << 20;
constexpr size_t kWords = kBlockWords;

CUmemAllocationProp Properties(bool exportable) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu.device};
  if (exportable) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

void Map(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, gpu.device},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  OK(cuMemMap(at, bytes, 0, handle, 0));
  OK(cuMemSetAccess(at, bytes, &access, 1));
}

CUmemGenericAllocationHandle MapNew(CUdeviceptr at, size_t bytes, bool exportable = false) {
  CUmemGenericAllocationHandle handle = 0;
  const CUmemAllocationProp properties = Properties(exportable);
  OK(cuMemCreate(&handle, bytes, &properties, 0));
  Map(at, bytes, handle);
  return handle;
}

CUdeviceptr Reserve(size_t bytes) {
  CUdeviceptr at = 0;
  OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
  return at;
}

// One thread launches on a mapping; meanwhile its handle is mapped a second time, or exported.
size_t SwapBeside(bool exports) {
  const CUdeviceptr at = Reserve(kPiece);
  const CUmemGenericAllocationHandle handle = MapNew(at, kPiece, exports);
  OK(cuMemsetD8(at, 0, kPiece));
  OK(cuCtxSynchronize());
  const CUstream stream = MakeStream();
  std::atomic<bool> stop{false};
  Word launches = 0;
  std::thread launching([&] {
    OK(cuCtxSetCurrent(gpu.context));
    for (; !stop; ++launches) {
      Add(at, kWords, 1, stream);
      usleep(200);
    }
  });
  usleep(10000);
  CUdeviceptr second = 0;
  int fd = -1;
  if (exports) {
    OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  } else {
    second = Reserve(kPiece);
    Map(second, kPiece, handle);
  }
  usleep(10000);
  stop = true;
  launching.join();
  OK(cuStreamSynchronize(stream));
  std::vector<Word> words(kWords);
  OK(cuMemcpyDtoH(words.data(), at, kWords * sizeof(Word)));
  size_t wrong = 0;
  for (const Word word : words) wrong += word != launches;
  if (fd >= 0) close(fd);
  if (second != 0) {
    OK(cuMemUnmap(second, kPiece));
    OK(cuMemAddressFree(second, kPiece));
  }
  OK(cuMemUnmap(at, kPiece));
  OK(cuMemRelease(handle));
  OK(cuMemAddressFree(at, kPiece));
  OK(cuStreamDestroy(stream));
  return wrong;
}

// Two mappings in a reservation; a kernel that was given the first one's address waits for the
// host. The second is unmapped meanwhile, or mapped once more (`aliases`).
void BesideWaiting(bool aliases) {
  const auto others = Blocks(12);
  const CUdeviceptr at = Reserve(2 * kBlock);
  MapNew(at, kBlock);
  const CUmemGenericAllocationHandle second = MapNew(at + kBlock, kBlock);
  OK(cuMemsetD8(at, 0, 2 * kBlock));
  Page page;
  const CUstream waiting = MakeStream(), side = MakeStream();
  *page.word = 1;
  WaitAdd(page.address, at, kWords, 1, waiting);
  OK(cuCtxSynchronize());
  *page.word = 0;
  for (int r = 0; r < 3; ++r) AddToAll(others, side);
  OK(cuCtxSynchronize());
  WaitAdd(page.address, at, kWords, 1, waiting);
  const auto begin = std::chrono::steady_clock::now();
  CUresult result = CUDA_SUCCESS;
  if (aliases) {
    result = cuMemMap(Reserve(kBlock), kBlock, 0, second, 0);
  } else {
    result = cuMemUnmap(at + kBlock, kBlock);
  }
  const bool at_once = std::chrono::steady_clock::now() - begin < std::chrono::seconds(2);
  std::printf("%d, %s\n", static_cast<int>(result), at_once ? "at once" : "late");
  *page.word = 1;
  OK(cuCtxSynchronize());
}

}  // namespace

// `mappings alias|export ROUNDS`, or `mappings alias_waiting|unmap_waiting`
HOSTILE_PROGRAM(mappings) {
  const std::string how = argv[1];
  Start();
  if (how.ends_with("_waiting")) {
    BesideWaiting(how == "alias_waiting");
    return 0;
  }
  size_t wrong = 0;
  for (int i = 0; i < std::atoi(argv[2]); ++i) wrong += SwapBeside(how == "export");
  std::printf("%zu words are wrong\n", wrong);
  return wrong != 0;
}
