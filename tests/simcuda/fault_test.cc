// A touch of memory that is not there kills the context, not the process.

#include <sys/mman.h>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

class FaultTest : public SimTest {
 protected:
  // A fill that nothing looks up when it is submitted, as that of a graph is, though it is when the
  // graph is instantiated.
  static void Touch(CUdeviceptr at, CUstream stream = nullptr) {
    CUDA_MEMSET_NODE_PARAMS_v1 fill{};
    SIM_OK(cuMemAlloc(&fill.dst, 16));  // Goes with the context: a free would wait for work.
    fill.elementSize = 1;
    fill.width = 16;
    fill.height = 1;
    CUcontext context = nullptr;
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    SIM_OK(cuCtxGetCurrent(&context));
    SIM_OK(cuGraphCreate(&graph, 0));
    SIM_OK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context));
    SIM_OK(cuGraphInstantiate(&exec, graph, 0));
    fill.dst = at;
    SIM_OK(cuGraphExecMemsetNodeSetParams(exec, node, &fill, context));
    SIM_OK(cuGraphLaunch(exec, stream));
  }
};

void ExpectDead(CUcontext context) {
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  CUdeviceptr address = 0;
  CUstream stream = nullptr;
  size_t free = 0;
  EXPECT_EQ(cuMemAlloc(&address, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemGetInfo(&free, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuCtxSynchronize_v2(context), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(FaultTest, UnmappedMemoryIsASickyError) {
  CUdeviceptr address = 0;
  SIM_OK(cuMemAddressReserve(&address, kGranularity, 0, 0, 0));
  Touch(address);
  ExpectDead(context_);
  SIM_EXPECT_OK(cuMemAddressFree(address, kGranularity));
}

TEST_F(FaultTest, AMappingWithoutAccessIsNotEnough) {
  const CUmemAllocationProp prop = DeviceProp();
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  SIM_OK(cuMemAddressReserve(&address, kGranularity, 0, 0, 0));
  SIM_OK(cuMemCreate(&handle, kGranularity, &prop, 0));
  SIM_OK(cuMemMap(address, kGranularity, 0, handle, 0));
  Touch(address);
  ExpectDead(context_);
  SIM_EXPECT_OK(cuMemUnmap(address, kGranularity));
  SIM_EXPECT_OK(cuMemRelease(handle));
  SIM_EXPECT_OK(cuMemAddressFree(address, kGranularity));
}

TEST_F(FaultTest, ReadOnlyIsEnforced) {
  const Chunk chunk = MapChunk(DeviceProp());
  const CUmemAccessDesc read = DeviceAccess(CU_MEM_ACCESS_FLAGS_PROT_READ);
  SIM_OK(cuMemSetAccess(chunk.address, kGranularity, &read, 1));
  char byte = 0;
  SIM_OK(cuMemcpyDtoH(&byte, chunk.address, 1));
  SIM_OK(cuMemsetD8(chunk.address, 1, 1));
  ExpectDead(context_);
  UnmapChunk(chunk);
}

TEST_F(FaultTest, UnmappingUnderQueuedWorkKillsItWhenItRuns) {
  const Chunk chunk = MapChunk(DeviceProp());
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  {
    Gate gate;
    gate.Park(stream);
    SIM_OK(cuMemsetD8Async(chunk.address, 1, kGranularity, stream));
    SIM_OK(cuMemUnmap(chunk.address, kGranularity));
  }
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  ExpectDead(context_);
  SIM_EXPECT_OK(cuMemRelease(chunk.handle));
  SIM_EXPECT_OK(cuMemAddressFree(chunk.address, kGranularity));
}

// Pending work is dropped, its waiters wake up, callbacks hear of it, and parked streams let go.
TEST_F(FaultTest, PendingWorkIsSkipped) {
  CUdeviceptr bad = 0;
  CUdeviceptr good = 0;
  SIM_OK(cuMemAddressReserve(&bad, kGranularity, 0, 0, 0));
  SIM_OK(cuMemAlloc(&good, 4));
  CUstream stream = nullptr;
  CUstream parked = nullptr;
  CUevent event = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  SIM_OK(cuStreamCreate(&parked, CU_STREAM_NON_BLOCKING));
  SIM_OK(cuEventCreate(&event, 0));
  std::atomic<bool> ran{false};
  std::atomic<int> heard{-1};
  void* memory = nullptr;
  SIM_OK(cuMemAllocHost(&memory, 4));
  SIM_OK(cuStreamWaitValue32(parked, reinterpret_cast<CUdeviceptr>(memory), 1,
                             CU_STREAM_WAIT_VALUE_EQ));
  {
    Gate gate;
    gate.Park(stream);
    Touch(bad, stream);
    SIM_OK(LaunchFunction(stream, [&ran] { ran = true; }));
    SIM_OK(cuStreamAddCallback(
        stream,
        [](CUstream, CUresult status, void* data) {
          static_cast<std::atomic<int>*>(data)->store(status);
        },
        &heard, 0));
    SIM_OK(cuEventRecord(event, stream));
  }
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_FALSE(ran);
  EXPECT_EQ(heard, CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(parked), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_EXPECT_OK(cuMemAddressFree(bad, kGranularity));
}

TEST_F(FaultTest, OtherContextsLiveOn) {
  CUcontext second = nullptr;
  SIM_OK(cuCtxCreate(&second, nullptr, 0, 0));
  CUdeviceptr bad = 0;
  SIM_OK(cuMemAddressReserve(&bad, kGranularity, 0, 0, 0));
  Touch(bad);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_OK(cuCtxPopCurrent(nullptr));
  SIM_EXPECT_OK(cuCtxSynchronize());
  CUdeviceptr good = 0;
  SIM_EXPECT_OK(cuMemAlloc(&good, 64));
  SIM_EXPECT_OK(cuMemsetD8(good, 1, 64));
  SIM_EXPECT_OK(cuCtxSynchronize());
  SIM_EXPECT_OK(cuCtxDestroy(second));
  SIM_EXPECT_OK(cuMemAddressFree(bad, kGranularity));
}

// After a reset of the device's context work goes on, as after cudaDeviceReset.
TEST_F(FaultTest, AResetGivesASoundContext) {
  CUdeviceptr bad = 0;
  SIM_OK(cuMemAddressReserve(&bad, kGranularity, 0, 0, 0));
  Touch(bad);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_OK(cuDevicePrimaryCtxReset(0));
  CUcontext again = nullptr;
  SIM_OK(cuDevicePrimaryCtxRetain(&again, 0));
  SIM_OK(cuCtxSetCurrent(again));
  SIM_EXPECT_OK(cuCtxSynchronize());
  SIM_EXPECT_OK(cuDevicePrimaryCtxRelease(0));
  SIM_EXPECT_OK(cuMemAddressFree(bad, kGranularity));
}

// A wait on a word that vanishes is a fault as well, found by the thread that looks at the words.
TEST_F(FaultTest, AWaitOnUnmappedMemoryFaults) {
  const Chunk chunk = MapChunk(HostProp());
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  SIM_OK(cuStreamWaitValue32(stream, chunk.address, 1, CU_STREAM_WAIT_VALUE_EQ));
  LetWorkersRun();
  SIM_OK(cuMemUnmap(chunk.address, kGranularity));
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  SIM_EXPECT_OK(cuMemRelease(chunk.handle));
  SIM_EXPECT_OK(cuMemAddressFree(chunk.address, kGranularity));
}

// The program's own faults are its own, in host functions too.
TEST_F(FaultTest, FaultsOfTheProgramKillTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        void* nothing = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (void)LaunchFunction(nullptr, [nothing] { *static_cast<volatile char*>(nothing) = 1; });
        (void)cuCtxSynchronize();
        _exit(0);
      },
      "");
}

}  // namespace
}  // namespace simcuda
