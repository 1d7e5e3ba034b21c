// Calls on memory that the program maps itself, beside work of another thread and beside work that
// waits for the host.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tests/preload/program_scenarios.h"

namespace {

using Count = unsigned long long;

constexpr size_t kMiB = size_t{1} << 20;

CUmemAccessDesc ReadWrite(const Program& p) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, p.device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

CUmemGenericAllocationHandle Create(Program* p, size_t size, bool exportable) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, p->device};
  if (exportable) {
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  }
  CUmemGenericAllocationHandle handle = 0;
  CHECK_OK(p->api.MemCreate(&handle, size, &properties, 0));
  return handle;
}

void Map(Program* p, CUdeviceptr at, size_t size, CUmemGenericAllocationHandle handle) {
  const CUmemAccessDesc access = ReadWrite(*p);
  CHECK_OK(p->api.MemMap(at, size, 0, handle, 0));
  CHECK_OK(p->api.MemSetAccess(at, size, &access, 1));
}

// A kernel that touches `words` until the host lets it go.
class Waiting {
 public:
  Waiting(Program* p, CUdeviceptr words, size_t count) : p_(*p) {
    CHECK_OK(p_.api.ModuleGetFunction(&kernel_, p_.module, "add_until"));
    CHECK_OK(
        p_.api.MemHostAlloc(reinterpret_cast<void**>(&page_), 1 << 20, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK_OK(p_.api.StreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    *flag() = 0;
    unsigned one = 1;
    volatile unsigned* const until = flag();
    volatile Count* const rounds = page_ + 512;
    *rounds = 0;
    void* params[] = {&words, &count, const_cast<volatile unsigned**>(&until), &one,
                      const_cast<volatile Count**>(&rounds)};
    CHECK_OK(p_.api.LaunchKernel(kernel_, 1, 1, 1, 1, 1, 1, 0, stream_, params, nullptr));
    while (*rounds == 0) usleep(100);
  }
  // How often it has added one.
  Count End() {
    *flag() = 1;
    CHECK_OK(p_.api.StreamSynchronize(stream_));
    return page_[512];
  }

 private:
  volatile unsigned* flag() const { return reinterpret_cast<volatile unsigned*>(page_); }

  Program& p_;
  CUfunction kernel_ = nullptr;
  CUstream stream_ = nullptr;
  Count* page_ = nullptr;
};

// As often as it was launched, each word has grown.
void CheckGrown(Program* p, CUdeviceptr at, size_t words, Count by) {
  std::vector<Count> found(words);
  CHECK_OK(p->api.MemcpyDtoH(found.data(), at, words * sizeof(Count)));
  for (size_t i = 0; i < words; ++i) CHECK(found[i] == by);
}

// Maps it twice, or exports it, while another thread launches kernels on it.
void LaunchBeside(Program* p, bool exported) {
  constexpr size_t kSize = 16 * kMiB;
  constexpr size_t kWords = 4096;
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    CUdeviceptr at = 0, again = 0;
    CHECK_OK(p->api.MemAddressReserve(&at, 2 * kSize, 0, 0, 0));
    const CUmemGenericAllocationHandle handle = Create(p, kSize, exported);
    Map(p, at, kSize, handle);
    CHECK_OK(p->api.MemsetD8(at, 0, kSize));
    CHECK_OK(p->api.CtxSynchronize());
    std::atomic<bool> stop{false};
    std::atomic<Count> launches{0};
    std::thread other([&] {
      CHECK_OK(p->api.CtxSetCurrent(p->context));
      while (!stop) {
        p->Launch(p->add_constant, at, kWords, 1);
        ++launches;
        usleep(100);
      }
    });
    while (launches < 20) usleep(100);
    if (exported) {
      int fd = -1;
      CHECK_OK(p->api.MemExport(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
      CHECK(close(fd) == 0);
    } else {
      CHECK_OK(p->api.MemAddressReserve(&again, kSize, 0, 0, 0));
      Map(p, again, kSize, handle);
    }
    const Count by_then = launches;
    while (launches < by_then + 20) usleep(100);
    stop = true;
    other.join();
    CHECK_OK(p->api.StreamSynchronize(p->stream));
    CheckGrown(p, at, kWords, launches);
    if (again != 0) {
      CheckGrown(p, again, kWords, launches);
      // The first goes first: what is there stays the other's.
      CHECK_OK(p->api.MemUnmap(at, kSize));
      CheckGrown(p, again, kWords, launches);
      Map(p, at, kSize, handle);
      CheckGrown(p, at, kWords, launches);
      CHECK_OK(p->api.MemUnmap(again, kSize));
      CHECK_OK(p->api.MemAddressFree(again, kSize));
    }
    CHECK_OK(p->api.MemUnmap(at, kSize));
    CHECK_OK(p->api.MemRelease(handle));
    CHECK_OK(p->api.MemAddressFree(at, 2 * kSize));
  }
}

// Maps and unmaps beside a kernel that waits for the host and uses other memory of the reservation.
void MapBesideWaiting(Program* p) {
  constexpr size_t kPiece = 4 * kMiB;
  constexpr size_t kWords = 1000;
  constexpr int kPieces = 4;
  CUdeviceptr at = 0, again = 0;
  CHECK_OK(p->api.MemAddressReserve(&at, kPieces * kPiece, 0, 0, 0));
  CHECK_OK(p->api.MemAddressReserve(&again, kPiece, 0, 0, 0));
  std::vector<CUmemGenericAllocationHandle> handles;
  for (int i = 0; i < kPieces; ++i) {
    handles.push_back(Create(p, kPiece, false));
    Map(p, at + static_cast<size_t>(i) * kPiece, kPiece, handles.back());
  }
  CHECK_OK(p->api.MemsetD8(at, 0, kPieces * kPiece));
  CHECK_OK(p->api.CtxSynchronize());
  // All of it is in use, as far as anybody knows who does not know how far the first one goes.
  Waiting first(p, at, kWords);
  first.End();
  CHECK_OK(p->api.MemsetD8(at, 0, kPieces * kPiece));
  CHECK_OK(p->api.CtxSynchronize());
  Waiting waiting(p, at, kWords);
  // None of these concerns what waits.
  Map(p, again, kPiece, handles[1]);
  CHECK_OK(p->api.MemUnmap(again, kPiece));
  CHECK_OK(p->api.MemUnmap(at + kPiece, kPiece));
  Map(p, at + kPiece, kPiece, handles[1]);
  CHECK_OK(p->api.MemUnmap(at + 2 * kPiece, 2 * kPiece));
  CHECK_OK(p->api.MemRelease(handles[3]));
  const CUmemGenericAllocationHandle other = Create(p, kPiece, false);
  Map(p, at + 3 * kPiece, kPiece, other);
  CheckGrown(p, at, kWords, waiting.End());
  CHECK_OK(p->api.MemUnmap(at, kPieces * kPiece));
  for (const CUmemGenericAllocationHandle handle : {handles[0], handles[1], handles[2], other}) {
    CHECK_OK(p->api.MemRelease(handle));
  }
  CHECK_OK(p->api.MemAddressFree(at, kPieces * kPiece));
  CHECK_OK(p->api.MemAddressFree(again, kPiece));
}

}  // namespace

void VmmBesideLaunches(Program* p, const std::string& what) {
  p->Start();
  LaunchBeside(p, what == "exported");
}

void VmmBesideWaiting(Program* p) {
  p->Start();
  MapBesideWaiting(p);
}

void VmmBesideWaitingWhileShort(Program* p) {
  p->Start();
  size_t free = 0, total = 0;
  CHECK_OK(p->api.MemGetInfo(&free, &total));
  constexpr size_t kBuffer = 4 * kMiB;
  std::vector<CUdeviceptr> buffers(2 * total / kBuffer);
  for (CUdeviceptr& b : buffers) CHECK_OK(p->api.MemAlloc(&b, kBuffer));
  p->Work(buffers, kBuffer, 2);
  MapBesideWaiting(p);
  p->Work(buffers, kBuffer, 2);
}
