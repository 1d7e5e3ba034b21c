// What one device may touch of another's memory. Tests of the program only where there are two
// that can reach each other.
#include <cstdio>

#include "tests/conformance/fixture.h"
#include "tests/conformance/gpu_only.h"

namespace vramspan::conformance {
namespace {

constexpr size_t kPeerBytes = size_t{64} << 10;

// The functions that no other rule speaks of.
struct Calls {
  explicit Calls(const World& world)
      : get_count(Find<decltype(get_count)>(world, "cuDeviceGetCount")),
        can_access(Find<decltype(can_access)>(world, "cuDeviceCanAccessPeer")),
        enable(Find<decltype(enable)>(world, "cuCtxEnablePeerAccess")),
        disable(Find<decltype(disable)>(world, "cuCtxDisablePeerAccess")),
        fill(Find<decltype(fill)>(world, "cuMemsetD8_v2")),
        copy_async(Find<decltype(copy_async)>(world, "cuMemcpyAsync")),
        copy_peer_async(Find<decltype(copy_peer_async)>(world, "cuMemcpyPeerAsync")) {}

  template <typename F>
  static F Find(const World& world, const char* name) {
    const auto f = reinterpret_cast<F>(world.driver().Symbol(name));
    if (f == nullptr) Must(CUDA_ERROR_NOT_FOUND, name);
    return f;
  }

  decltype(&cuDeviceGetCount) get_count;
  decltype(&cuDeviceCanAccessPeer) can_access;
  decltype(&cuCtxEnablePeerAccess) enable;
  decltype(&cuCtxDisablePeerAccess) disable;
  decltype(&cuMemsetD8) fill;
  decltype(&cuMemcpyAsync) copy_async;
  decltype(&cuMemcpyPeerAsync) copy_peer_async;
};

CUdevice OtherDevice() { return World::Get().device() == 0 ? 1 : 0; }

// The other device's context is current, and copies to memory of its own and from there.
class Peers : public Conformance {
 protected:
  void SetUp() override {
    CU_OK(cu_.DevicePrimaryCtxRetain(&other_, OtherDevice()));
    CU_OK(cu_.MemAlloc(&plain_, kPeerBytes));
    CU_OK(cu_.CtxSetCurrent(other_));
    CU_OK(cu_.MemAlloc(&mine_, kPeerBytes));
    CU_OK(cu_.StreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    CU_EXPECT_OK(cu_.CtxSetCurrent(other_));
    CU_EXPECT_OK(cu_.StreamDestroy(stream_));
    CU_EXPECT_OK(cu_.MemFree(mine_));
    CU_EXPECT_OK(cu_.CtxSetCurrent(world_.primary()));
    CU_EXPECT_OK(cu_.MemFree(plain_));
    CU_EXPECT_OK(cu_.DevicePrimaryCtxRelease(OtherDevice()));
    Conformance::TearDown();
  }

  // Both ways, by addresses alone.
  void ExpectCopies(CUdeviceptr theirs, CUresult wanted) {
    EXPECT_EQ(calls_.copy_async(mine_, theirs, kPeerBytes, stream_), wanted);
    EXPECT_EQ(calls_.copy_async(theirs, mine_, kPeerBytes, stream_), wanted);
    EXPECT_EQ(cu_.MemcpyDtoDAsync(mine_, theirs, kPeerBytes, stream_), wanted);
    CU_EXPECT_OK(cu_.StreamSynchronize(stream_));
  }

  const Calls calls_{World::Get()};
  CUcontext other_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr plain_ = 0, mine_ = 0;
};

class PlainMemory : public Peers {
 public:
  void TestBody() override {
    ExpectCopies(plain_, CUDA_SUCCESS);
    EXPECT_EQ(calls_.fill(plain_, 0, kPeerBytes), CUDA_ERROR_INVALID_VALUE) << "not so fills";
    CU_OK(calls_.copy_peer_async(plain_, world_.primary(), mine_, other_, kPeerBytes, stream_));
    CU_OK(calls_.enable(world_.primary(), 0));
    EXPECT_EQ(calls_.enable(world_.primary(), 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    ExpectCopies(plain_, CUDA_SUCCESS);
    CU_OK(calls_.disable(world_.primary()));
    EXPECT_EQ(calls_.disable(world_.primary()), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  }
};

class Mappings : public Peers {
 public:
  void TestBody() override {
    for (const Where where : {Where::kDevice, Where::kHostNuma}) {
      // Of host memory that a device concerned has no access to the driver makes no copy: it
      // crashes, so that is not tried.
      const bool may_be_refused = where == Where::kDevice;
      CU_OK(cu_.CtxSetCurrent(world_.primary()));
      const Chunks chunk({where});
      CU_OK(cu_.CtxSetCurrent(other_));
      CU_OK(calls_.enable(world_.primary(), 0));
      if (may_be_refused) ExpectCopies(chunk.at(0), CUDA_ERROR_INVALID_VALUE);
      SetAccess(chunk.at(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
      ExpectCopies(chunk.at(0), CUDA_SUCCESS);
      SetAccess(chunk.at(0), CU_MEM_ACCESS_FLAGS_PROT_NONE);
      if (may_be_refused) ExpectCopies(chunk.at(0), CUDA_ERROR_INVALID_VALUE);
      CU_OK(calls_.disable(world_.primary()));
      // What the preload's copies rest on where devices do not reach each other.
      if (may_be_refused) {
        CU_OK(calls_.copy_peer_async(chunk.at(0), world_.primary(), mine_, other_, kPeerBytes,
                                     stream_));
        CU_OK(cu_.StreamSynchronize(stream_));
      }
      CU_OK(cu_.CtxSetCurrent(world_.primary()));
    }
  }

 private:
  // Adds to what is said of others, and takes nothing from them.
  void SetAccess(CUdeviceptr at, CUmemAccess_flags flags) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, OtherDevice()}, flags};
    CU_OK(cu_.MemSetAccess(at, kChunk, &access, 1));
    unsigned long long own = 0;
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, world_.device()};
    CU_OK(world_.MemGetAccess(&own, &location, at));
    EXPECT_EQ(own, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  }
};

}  // namespace

void RegisterPeerTests() {
  const Calls calls(World::Get());
  int count = 0, there = 0, back = 0;
  Must(calls.get_count(&count), "cuDeviceGetCount");
  if (count > 1) {
    Must(calls.can_access(&there, World::Get().device(), OtherDevice()), "cuDeviceCanAccessPeer");
    Must(calls.can_access(&back, OtherDevice(), World::Get().device()), "cuDeviceCanAccessPeer");
  }
  if (there == 0 || back == 0) {
    fprintf(
        stderr,
        "conformance: no two devices that reach each other: the rules of peers are not tried\n");
    return;
  }
  ::testing::RegisterTest("Peers", "PlainMemoryIsCopiedWithOrWithoutAccess", nullptr, nullptr,
                          __FILE__, __LINE__, []() -> Peers* { return new PlainMemory(); });
  ::testing::RegisterTest("Peers", "MappingsNameWhoMayCopyThem", nullptr, nullptr, __FILE__,
                          __LINE__, []() -> Peers* { return new Mappings(); });
}

}  // namespace vramspan::conformance
