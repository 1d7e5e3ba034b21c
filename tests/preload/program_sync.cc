// CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: copies and fills of such memory are done when they return. The
// default stream is closed at a wait, so that what does not wait returns before its time; what does
// is let through as soon as it is seen to wait. The simulated driver counts the calls.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "tests/preload/program_scenarios.h"

namespace {

struct Sync {
#define SYNC_CALLS(X)                                 \
  X(MemsetD8, cuMemsetD8_v2, _ptds)                   \
  X(MemsetD16, cuMemsetD16_v2, _ptds)                 \
  X(MemsetD32, cuMemsetD32_v2, _ptds)                 \
  X(MemsetD2D8, cuMemsetD2D8_v2, _ptds)               \
  X(MemsetD2D16, cuMemsetD2D16_v2, _ptds)             \
  X(MemsetD2D32, cuMemsetD2D32_v2, _ptds)             \
  X(Memcpy, cuMemcpy, _ptds)                          \
  X(MemcpyPeer, cuMemcpyPeer, _ptds)                  \
  X(MemcpyHtoD, cuMemcpyHtoD_v2, _ptds)               \
  X(MemcpyDtoD, cuMemcpyDtoD_v2, _ptds)               \
  X(MemcpyDtoA, cuMemcpyDtoA_v2, _ptds)               \
  X(MemcpyAtoD, cuMemcpyAtoD_v2, _ptds)               \
  X(Memcpy2D, cuMemcpy2D_v2, _ptds)                   \
  X(Memcpy2DUnaligned, cuMemcpy2DUnaligned_v2, _ptds) \
  X(Memcpy3D, cuMemcpy3D_v2, _ptds)                   \
  X(Memcpy3DPeer, cuMemcpy3DPeer, _ptds)              \
  X(StreamWaitValue32, cuStreamWaitValue32_v2, _ptsz) \
  X(StreamQuery, cuStreamQuery, _ptsz)                \
  X(ArrayCreate, cuArrayCreate_v2, )                  \
  X(ArrayDestroy, cuArrayDestroy, )                   \
  X(PointerSetAttribute, cuPointerSetAttribute, )     \
  X(PointerGetAttribute, cuPointerGetAttribute, )
#define X(field, symbol, suffix) decltype(&::symbol) field = nullptr;
  SYNC_CALLS(X)
#undef X
  long long (*CallCount)(const char*) = nullptr;
};

Sync OpenSync(bool per_thread) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(driver != nullptr);
  Sync s;
#define X(field, symbol, suffix)                                                                  \
  s.field =                                                                                       \
      reinterpret_cast<decltype(s.field)>(dlsym(driver, per_thread ? #symbol #suffix : #symbol)); \
  CHECK(s.field != nullptr);
  SYNC_CALLS(X)
#undef X
  s.CallCount = reinterpret_cast<decltype(s.CallCount)>(dlsym(driver, "simcudaCallCount"));
  CHECK(s.CallCount != nullptr);
  return s;
}

constexpr size_t kSize = size_t{1} << 20;
constexpr size_t kPart = 4096;

class Checker {
 public:
  Checker(Program* p, bool per_thread) : p_(*p), s_(OpenSync(per_thread)) {
    CHECK_OK(p_.api.MemAlloc(&memory_, kSize));
    CHECK_OK(p_.api.MemAlloc(&other_, kSize));
    void* word = nullptr;
    CHECK_OK(p_.api.MemHostAlloc(&word, 2 * sizeof(*word_), 0));
    word_ = static_cast<uint32_t*>(word);
    word_[0] = word_[1] = 0;
    const CUDA_ARRAY_DESCRIPTOR d{kPart, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CHECK_OK(s_.ArrayCreate(&array_, &d));
  }

  // The calls that touch `memory_`, and nothing else of ours but `other_`, which never asks.
  void All(bool waits) {
    const Sync& s = s_;
    const CUdeviceptr m = memory_ + kPart, o = other_;
    const std::vector<char> host(kPart);
    Check("MemsetD8", waits, [&] { return s.MemsetD8(m, 1, kPart); });
    Check("MemsetD16", waits, [&] { return s.MemsetD16(m, 1, kPart / 2); });
    Check("MemsetD32", waits, [&] { return s.MemsetD32(m, 1, kPart / 4); });
    Check("MemsetD2D8", waits, [&] { return s.MemsetD2D8(m, 256, 1, 64, 4); });
    Check("MemsetD2D16", waits, [&] { return s.MemsetD2D16(m, 256, 1, 64, 4); });
    Check("MemsetD2D32", waits, [&] { return s.MemsetD2D32(m, 256, 1, 64, 4); });
    Check("Memcpy to", waits, [&] { return s.Memcpy(m, o, kPart); });
    Check("Memcpy from", waits, [&] { return s.Memcpy(o, m, kPart); });
    Check("MemcpyPeer to", waits,
          [&] { return s.MemcpyPeer(m, p_.context, o, p_.context, kPart); });
    Check("MemcpyPeer from", waits,
          [&] { return s.MemcpyPeer(o, p_.context, m, p_.context, kPart); });
    Check("MemcpyHtoD", waits, [&] { return s.MemcpyHtoD(m, host.data(), kPart); });
    Check("MemcpyDtoD to", waits, [&] { return s.MemcpyDtoD(m, o, kPart); });
    Check("MemcpyDtoD from", waits, [&] { return s.MemcpyDtoD(o, m, kPart); });
    Check("MemcpyDtoA", waits, [&] { return s.MemcpyDtoA(array_, 0, m, kPart); });
    Check("MemcpyAtoD", waits, [&] { return s.MemcpyAtoD(m, array_, 0, kPart); });
    Rows("Memcpy2D", waits, Flat(), s.Memcpy2D);
    Rows("Memcpy2DUnaligned", waits, Flat(), s.Memcpy2DUnaligned);
    Rows("Memcpy3D", waits, Deep<CUDA_MEMCPY3D>(), s.Memcpy3D);
    CUDA_MEMCPY3D_PEER peer = Deep<CUDA_MEMCPY3D_PEER>();
    peer.srcContext = peer.dstContext = p_.context;
    Rows("Memcpy3DPeer", waits, peer, s.Memcpy3DPeer);
  }

  // Those that touch other memory do not wait for its sake.
  void Others() {
    const CUdeviceptr o = other_;
    Check("MemsetD8 elsewhere", false, [&] { return s_.MemsetD8(o, 1, kPart); });
    Check("MemcpyDtoD elsewhere", false, [&] { return s_.MemcpyDtoD(o, o + kPart, kPart); });
  }

  // Work of other streams is not waited for by calls for the thread's own.
  void Alone() {
    CUstream beside = nullptr;
    CHECK_OK(p_.api.StreamCreate(&beside, CU_STREAM_DEFAULT));
    uint32_t* const closed = word_ + 1;
    CHECK_OK(s_.StreamWaitValue32(beside, reinterpret_cast<CUdeviceptr>(closed), 1,
                                  CU_STREAM_WAIT_VALUE_EQ));
    std::atomic<bool> returned{false};
    bool was_late = false;
    std::thread opener([&] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!returned && !was_late) {
        std::this_thread::yield();
        was_late = std::chrono::steady_clock::now() > end;
      }
      __atomic_store_n(closed, 1u, __ATOMIC_RELEASE);
    });
    CHECK_OK(s_.MemsetD8(memory_, 1, kPart));
    returned = true;
    opener.join();
    if (was_late) problems_ += "another stream was waited for\n";
    CHECK_OK(p_.api.StreamDestroy(beside));
  }

  void Ask(unsigned on) {
    CHECK_OK(s_.PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory_ + kSize / 2));
    unsigned now = 7;
    CHECK_OK(s_.PointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, memory_));
    CHECK(now == on);
  }

  void End() {
    CHECK_OK(s_.ArrayDestroy(array_));
    CHECK_OK(p_.api.MemFree(memory_));
    CHECK_OK(p_.api.MemFree(other_));
    if (!problems_.empty()) Fail(problems_);
  }

 private:
  void Open() { __atomic_store_n(word_, round_, __ATOMIC_RELEASE); }

  // With the default stream closed.
  void Check(const std::string& name, bool waits, const std::function<CUresult()>& call) {
    ++round_;
    CHECK_OK(s_.StreamWaitValue32(nullptr, reinterpret_cast<CUdeviceptr>(word_), round_,
                                  CU_STREAM_WAIT_VALUE_EQ));
    std::atomic<bool> returned{false};
    const long long before = s_.CallCount("cuStreamSynchronize");
    std::thread opener([&] {
      while (!returned && s_.CallCount("cuStreamSynchronize") == before) std::this_thread::yield();
      Open();
    });
    const CUresult result = call();
    const bool done = s_.StreamQuery(nullptr) == CUDA_SUCCESS;
    returned = true;
    opener.join();
    CHECK_OK(p_.api.StreamSynchronize(nullptr));
    if (result != CUDA_SUCCESS) problems_ += name + " is " + std::to_string(result) + "\n";
    if (done != waits) problems_ += name + (done ? " waited\n" : " did not wait\n");
  }

  CUDA_MEMCPY2D Flat() const {
    CUDA_MEMCPY2D copy{};
    copy.WidthInBytes = 64;
    copy.Height = 2;
    return copy;
  }
  template <typename Copy>
  static Copy Deep() {
    Copy copy{};
    copy.WidthInBytes = 64;
    copy.Height = 2;
    copy.Depth = 2;
    copy.srcHeight = copy.dstHeight = 16;
    copy.srcZ = copy.dstZ = 4;
    return copy;
  }
  // Both ways; what is named is below the memory, what is touched in it.
  template <typename Copy, typename Call>
  void Rows(const std::string& name, bool waits, Copy copy, Call call) {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy.srcPitch = copy.dstPitch = 256;
    copy.srcY = copy.dstY = 8;
    copy.srcXInBytes = copy.dstXInBytes = 16;
    size_t offset = 8 * 256 + 16;
    if constexpr (requires { copy.srcZ; }) offset += 4 * 16 * 256;
    copy.srcDevice = other_;
    copy.dstDevice = memory_ - offset;
    Check(name + " to", waits, [&] { return call(&copy); });
    std::swap(copy.srcMemoryType, copy.dstMemoryType);
    std::swap(copy.srcDevice, copy.dstDevice);
    Check(name + " from", waits, [&] { return call(&copy); });
  }

  Program p_;
  const Sync s_;
  CUdeviceptr memory_ = 0, other_ = 0;
  CUarray array_ = nullptr;
  uint32_t* word_ = nullptr;
  uint32_t round_ = 0;
  std::string problems_;
};

}  // namespace

void AskToWait(Program* p, bool per_thread) {
  p->Start();
  Checker checker(p, per_thread);
  checker.All(false);
  checker.Ask(1);
  checker.All(true);
  checker.Others();
  if (per_thread) checker.Alone();
  checker.Ask(0);
  checker.All(false);
  checker.End();
}
