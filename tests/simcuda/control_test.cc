// The switches of control.h.

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

class ControlTest : public SimTest {
 protected:
  static CUresult Alloc() {
    CUdeviceptr address = 0;
    return cuMemAlloc(&address, 64);
  }
};

TEST_F(ControlTest, TheNthCallFailsOnce) {
  ASSERT_EQ(simcudaFail("cuMemAlloc", 3, 1, CUDA_ERROR_OUT_OF_MEMORY), 0);
  SIM_OK(Alloc());
  SIM_OK(Alloc());
  EXPECT_EQ(Alloc(), CUDA_ERROR_OUT_OF_MEMORY);
  SIM_OK(Alloc());
  EXPECT_EQ(simcudaFailedCalls(), 1u);
}

TEST_F(ControlTest, AllCallsFailFromThenOn) {
  ASSERT_EQ(simcudaFail("cuMemAlloc_v2", 2, -1, CUDA_ERROR_UNKNOWN), 0);
  SIM_OK(Alloc());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Alloc(), CUDA_ERROR_UNKNOWN);
  simcudaReset();
  SIM_OK(Alloc());
}

TEST_F(ControlTest, AFailedCallDoesNothing) {
  const long long used = simcudaMemoryUsed(0);
  ASSERT_EQ(simcudaFail("*", 1, 1, CUDA_ERROR_NOT_READY), 0);
  EXPECT_EQ(Alloc(), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(simcudaMemoryUsed(0), used);
}

TEST_F(ControlTest, RulesForOneNameLeaveOthersAlone) {
  ASSERT_EQ(simcudaFail("cuMemFree", 1, -1, CUDA_ERROR_UNKNOWN), 0);
  CUdeviceptr address = 0;
  SIM_OK(cuMemAlloc(&address, 64));
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_UNKNOWN);
}

TEST_F(ControlTest, CallsAreCounted) {
  EXPECT_EQ(simcudaCallCount("cuMemAlloc"), 0);
  SIM_OK(Alloc());
  SIM_OK(Alloc());
  EXPECT_EQ(simcudaCallCount("cuMemAlloc"), 2);
  EXPECT_EQ(simcudaCallCount("cuMemAlloc_v2"), 2);
  EXPECT_EQ(simcudaCallCount("cuMemHug"), -1);
  EXPECT_EQ(simcudaFail("cuMemHug", 1, 1, 1), -1);
  EXPECT_EQ(simcudaFail("cuMemAlloc", 0, 1, 1), -1);
}

TEST_F(ControlTest, Delays) {
  ASSERT_EQ(simcudaSetDelay("cuMemAlloc", 2000), 0);
  const auto start = std::chrono::steady_clock::now();
  SIM_OK(Alloc());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(2));
}

TEST_F(ControlTest, LimitsChange) {
  simcudaSetDeviceMemory(0, 17 * kMiB);
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAlloc(&address, 2 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(simcudaSetDeviceMemory(5, 1), -1);
  simcudaReset();
  SIM_OK(cuMemAlloc(&address, 2 * kMiB));
}

}  // namespace
}  // namespace simcuda
