// What one device may touch of another's memory.
#include "tests/simcuda/kernel_fixture.h"

namespace simcuda {
namespace {

constexpr size_t kPeerCount = 64;
constexpr size_t kPeerBytes = kPeerCount * sizeof(Word);

// Device 1 looks at memory of device 0.
class PeerTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    SIM_OK(cuDevicePrimaryCtxRetain(&other_, 1));
    SIM_OK(cuCtxSetCurrent(other_));
    SIM_OK(LoadKernels(test_kernels_images(), cuModuleLoadData, &module_));
    SIM_OK(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    SIM_OK(cuMemAlloc(&mine_, kPeerBytes));
    SIM_OK(cuCtxSetCurrent(context_));
  }
  void TearDown() override {
    SIM_EXPECT_OK(cuCtxSetCurrent(context_));
    SIM_EXPECT_OK(cuDevicePrimaryCtxReset(1));
    SIM_EXPECT_OK(cuDevicePrimaryCtxRelease(1));
    KernelTest::TearDown();
    EXPECT_EQ(simcudaMemoryUsed(1), 0);
  }

  void OnOther() { SIM_OK(cuCtxSetCurrent(other_)); }
  // Of device 1 in `address`. Kills its context where it may not.
  CUresult Touch(CUdeviceptr address) {
    const CUresult launched = Launch(Function("fill"), stream_, address, kPeerCount, Word{7});
    return launched != CUDA_SUCCESS ? launched : cuStreamSynchronize(stream_);
  }
  CUresult CopyFrom(CUdeviceptr address) {
    const CUresult r = cuMemcpyAsync(mine_, address, kPeerBytes, stream_);
    return r != CUDA_SUCCESS ? r : cuStreamSynchronize(stream_);
  }
  CUresult CopyTo(CUdeviceptr address) {
    const CUresult r = cuMemcpyDtoDAsync(address, mine_, kPeerBytes, stream_);
    return r != CUDA_SUCCESS ? r : cuStreamSynchronize(stream_);
  }
  static void GrantOther(const Chunk& chunk, CUmemAccess_flags flags) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, flags};
    SIM_OK(cuMemSetAccess(chunk.address, chunk.size, &access, 1));
  }

  CUcontext other_ = nullptr;
  CUdeviceptr mine_ = 0;
};

TEST_F(PeerTest, AccessIsEnabledOnceAndDisabledOnce) {
  OnOther();
  EXPECT_EQ(cuCtxDisablePeerAccess(context_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  SIM_OK(cuCtxEnablePeerAccess(context_, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(context_, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(other_, 0), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuCtxEnablePeerAccess(context_, 1), CUDA_ERROR_INVALID_VALUE);
  SIM_OK(cuCtxDisablePeerAccess(context_));
  EXPECT_EQ(cuCtxDisablePeerAccess(context_), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
}

TEST_F(PeerTest, KernelsNeedAccessToPlainMemory) {
  const CUdeviceptr theirs = Words(kPeerCount);
  OnOther();
  SIM_OK(cuCtxEnablePeerAccess(context_, 0));
  SIM_OK(Touch(theirs));
  EXPECT_EQ(ReadOne(theirs), 7);
  SIM_OK(cuCtxDisablePeerAccess(context_));
  EXPECT_EQ(Touch(theirs), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS) << "the context is dead";
}

TEST_F(PeerTest, AccessIsToOneContextAndOneWay) {
  CUcontext second = nullptr;
  SIM_OK(cuCtxCreate(&second, nullptr, 0, 0));
  const CUdeviceptr theirs = Words(kPeerCount);
  OnOther();
  SIM_OK(cuCtxEnablePeerAccess(context_, 0));
  EXPECT_EQ(Touch(theirs), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_OK(cuCtxSetCurrent(context_));
  CUstream stream = NewStream();
  SIM_OK(LoadKernels(test_kernels_images(), cuModuleLoadData, &module_));
  SIM_OK(Launch(Function("fill"), stream, mine_, kPeerCount, Word{7}));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_OK(cuCtxDestroy(second));
}

TEST_F(PeerTest, CopiesOfPlainMemoryNeedNone) {
  const CUdeviceptr theirs = Words(kPeerCount);
  OnOther();
  SIM_OK(cuMemsetD8Async(mine_, 1, kPeerBytes, stream_));
  SIM_OK(CopyTo(theirs));
  SIM_OK(CopyFrom(theirs));
  SIM_OK(cuMemcpyPeerAsync(theirs, context_, mine_, other_, kPeerBytes, stream_));
  SIM_OK(cuStreamSynchronize(stream_));
  EXPECT_EQ(ReadOne(theirs), 0x0101010101010101u);
}

TEST_F(PeerTest, MappingsNeedRightsOfTheirOwn) {
  for (const CUmemAllocationProp& prop : {DeviceProp(0), HostProp()}) {
    const Chunk chunk = MapChunk(prop);
    OnOther();
    SIM_OK(cuCtxEnablePeerAccess(context_, 0));
    // A copy of what is on the host would end the process, as the real driver's crash does.
    const bool may_be_refused = prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (may_be_refused) {
      EXPECT_EQ(CopyFrom(chunk.address), CUDA_ERROR_INVALID_VALUE) << "peer access is not enough";
      EXPECT_EQ(CopyTo(chunk.address), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(cuMemsetD8Async(chunk.address, 0, kPeerBytes, stream_), CUDA_ERROR_INVALID_VALUE);
    GrantOther(chunk, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    SIM_OK(CopyTo(chunk.address));
    SIM_OK(CopyFrom(chunk.address));
    SIM_OK(Touch(chunk.address));
    GrantOther(chunk, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    if (may_be_refused) {
      EXPECT_EQ(CopyFrom(chunk.address), CUDA_ERROR_INVALID_VALUE);
      SIM_OK(cuMemcpyPeerAsync(chunk.address, context_, mine_, other_, kPeerBytes, stream_));
      SIM_OK(cuStreamSynchronize(stream_));
    }
    SIM_OK(cuCtxDisablePeerAccess(context_));
    UnmapChunk(chunk);
  }
}

TEST_F(PeerTest, KernelsNeedRightsToMappings) {
  const Chunk chunk = MapChunk(DeviceProp(0));
  OnOther();
  SIM_OK(cuCtxEnablePeerAccess(context_, 0));
  EXPECT_EQ(Touch(chunk.address), CUDA_ERROR_ILLEGAL_ADDRESS);
  UnmapChunk(chunk);
}

TEST_F(PeerTest, PoolsAreOpenedToDevices) {
  CUmemoryPool pool = nullptr;
  CUdeviceptr theirs = 0;
  SIM_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  SIM_OK(cuMemAllocAsync(&theirs, kPeerBytes, CU_STREAM_LEGACY));
  SIM_OK(cuCtxSynchronize());
  OnOther();
  EXPECT_EQ(CopyFrom(theirs), CUDA_ERROR_INVALID_VALUE);
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  SIM_OK(cuMemPoolGetAccess(&flags, pool, &access.location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  SIM_OK(cuMemPoolSetAccess(pool, &access, 1));
  SIM_OK(cuMemPoolGetAccess(&flags, pool, &access.location));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  SIM_OK(CopyFrom(theirs));
  SIM_OK(Touch(theirs));
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  SIM_OK(cuMemPoolSetAccess(pool, &access, 1));
  EXPECT_EQ(Touch(theirs), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_OK(cuCtxSetCurrent(context_));
  SIM_OK(cuMemFreeAsync(theirs, CU_STREAM_LEGACY));
}

}  // namespace
}  // namespace simcuda
