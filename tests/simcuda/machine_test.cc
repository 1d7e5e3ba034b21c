// A machine as its settings describe it: CMakeLists.txt has them, and runs this with no others.
#include <cstring>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

using Clock = std::chrono::steady_clock;

class MachineTest : public SimTest {
 protected:
  static CUresult Create(CUmemLocationType type, int id) {
    CUmemAllocationProp prop = HostProp();
    prop.location = {type, id};
    CUmemGenericAllocationHandle handle = 0;
    const CUresult result = cuMemCreate(&handle, kGranularity, &prop, 0);
    if (result == CUDA_SUCCESS) {
      SIM_EXPECT_OK(cuMemRelease(handle));
    }
    return result;
  }

  static CUmemAllocationProp HostOnNode1() {
    CUmemAllocationProp prop = HostProp();
    prop.location.id = 1;
    return prop;
  }

  static int Attribute(CUdevice_attribute attribute) {
    int value = -1;
    SIM_EXPECT_OK(cuDeviceGetAttribute(&value, attribute, 0));
    return value;
  }
};

TEST_F(MachineTest, IsNamed) {
  char name[64];
  SIM_OK(cuDeviceGetName(name, sizeof(name), 0));
  EXPECT_STREQ(name, "GRID A100-10C");
}

TEST_F(MachineTest, GivesMemoryOfSomeNodes) {
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID), 2);
  SIM_EXPECT_OK(Create(CU_MEM_LOCATION_TYPE_HOST_NUMA, 1));
  SIM_EXPECT_OK(Create(CU_MEM_LOCATION_TYPE_HOST_NUMA, 3));
  for (const int node : {-1, 0, 2, 64}) {
    EXPECT_EQ(Create(CU_MEM_LOCATION_TYPE_HOST_NUMA, node), CUDA_ERROR_INVALID_VALUE) << node;
  }
}

TEST_F(MachineTest, TheDriverIsTooOldForSome) {
  int value = 0;
  EXPECT_EQ(cuDeviceGetAttribute(
                &value, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Create(CU_MEM_LOCATION_TYPE_HOST, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MachineTest, StreamsTakeNarrowValuesAlone) {
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS), 0);
  CUdeviceptr word = 0;
  SIM_OK(cuMemAlloc(&word, 8));
  SIM_EXPECT_OK(cuStreamWriteValue32(nullptr, word, 1, 0));
  SIM_EXPECT_OK(cuStreamWaitValue32(nullptr, word, 1, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_EQ(cuStreamWriteValue64(nullptr, word, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuStreamWaitValue64(nullptr, word, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
  SIM_OK(cuMemFree(word));
}

TEST_F(MachineTest, BothWaysShareTheOneEngineAndItsRates) {
  EXPECT_EQ(Attribute(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT), 1);
  constexpr size_t kBytes = 4 * kMiB;
  constexpr auto kIn = std::chrono::microseconds(kBytes / 1000);  // 1 GB/s,
  constexpr auto kOut = std::chrono::microseconds(kBytes / 500);  // and half a GB/s.
  const Chunk host = MapChunk(HostOnNode1(), kBytes), other = MapChunk(HostOnNode1(), kBytes);
  CUdeviceptr device = 0, second = 0;
  SIM_OK(cuMemAlloc(&device, kBytes));
  SIM_OK(cuMemAlloc(&second, kBytes));
  CUstream in = nullptr, out = nullptr;
  SIM_OK(cuStreamCreate(&in, CU_STREAM_NON_BLOCKING));
  SIM_OK(cuStreamCreate(&out, CU_STREAM_NON_BLOCKING));

  auto start = Clock::now();
  SIM_OK(cuMemcpyAsync(device, host.address, kBytes, in));
  SIM_OK(cuStreamSynchronize(in));
  EXPECT_GE(Clock::now() - start, kIn);
  start = Clock::now();
  SIM_OK(cuMemcpyAsync(device, host.address, kBytes, in));
  SIM_OK(cuMemcpyAsync(other.address, second, kBytes, out));
  SIM_OK(cuStreamSynchronize(in));
  SIM_OK(cuStreamSynchronize(out));
  EXPECT_GE(Clock::now() - start, kIn + kOut);

  UnmapChunk(host);
  UnmapChunk(other);
  SIM_OK(cuMemFree(device));
  SIM_OK(cuMemFree(second));
}

}  // namespace
}  // namespace simcuda
