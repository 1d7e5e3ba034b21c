// Texture references, and what the simulated devices say they cannot do.

#include <cstdint>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

class TexrefTest : public SimTest {
 protected:
  void SetUp() override {
    SimTest::SetUp();
    SIM_OK(cuMemAlloc(&memory_, kMiB));
    SIM_OK(cuTexRefCreate(&reference_));
  }
  void TearDown() override {
    SIM_OK(cuTexRefDestroy(reference_));
    SimTest::TearDown();
  }

  CUdeviceptr memory_ = 0;
  CUtexref reference_ = nullptr;
};

TEST_F(TexrefTest, SayWhatTheyAreBoundTo) {
  CUdeviceptr bound = 0;
  EXPECT_EQ(cuTexRefGetAddress(&bound, reference_), CUDA_ERROR_INVALID_VALUE) << "nothing yet";
  size_t offset = 1;
  SIM_OK(cuTexRefSetAddress(&offset, reference_, memory_, kMiB));
  EXPECT_EQ(offset, 0u);
  SIM_OK(cuTexRefSetAddress(&offset, reference_, memory_ + 516, 4096));
  EXPECT_EQ(offset, 4u);
  SIM_OK(cuTexRefGetAddress(&bound, reference_));
  EXPECT_EQ(bound, memory_ + 512);
  CUDA_ARRAY_DESCRIPTOR rows = {64, 16, CU_AD_FORMAT_UNSIGNED_INT32, 2};
  SIM_OK(cuTexRefSetAddress2D(reference_, &rows, memory_ + 1024, 512));
  SIM_OK(cuTexRefGetAddress(&bound, reference_));
  EXPECT_EQ(bound, memory_ + 1024);
  CUarray_format format = CU_AD_FORMAT_FLOAT;
  int channels = 0;
  SIM_OK(cuTexRefGetFormat(&format, &channels, reference_));
  EXPECT_EQ(format, CU_AD_FORMAT_UNSIGNED_INT32);
  EXPECT_EQ(channels, 2);
}

TEST_F(TexrefTest, Refusals) {
  constexpr CUresult kBad = CUDA_ERROR_INVALID_VALUE;
  size_t offset = 0;
  EXPECT_EQ(cuTexRefSetAddress(nullptr, reference_, memory_ + 4, 64), kBad);
  EXPECT_EQ(cuTexRefSetAddress(&offset, reference_, memory_ + 2, 64), kBad) << "inside a texel";
  EXPECT_EQ(cuTexRefSetAddress(&offset, reference_, memory_, kMiB + 1), kBad);
  EXPECT_EQ(cuTexRefSetAddress(&offset, reference_, 0, 64), kBad);
  CUdeviceptr reserved = 0;
  SIM_OK(cuMemAddressReserve(&reserved, kGranularity, 0, 0, 0));
  EXPECT_EQ(cuTexRefSetAddress(&offset, reference_, reserved, 64), kBad) << "not mapped";
  SIM_OK(cuMemAddressFree(reserved, kGranularity));
  CUDA_ARRAY_DESCRIPTOR rows = {64, 16, CU_AD_FORMAT_FLOAT, 1};
  EXPECT_EQ(cuTexRefSetAddress2D(reference_, &rows, memory_, 224), kBad) << "less than a row";
  EXPECT_EQ(cuTexRefSetAddress2D(reference_, &rows, memory_, 264), kBad);
  EXPECT_EQ(cuTexRefSetAddress2D(reference_, &rows, memory_ + 256, 256), kBad);
  rows.Height = kMiB;
  EXPECT_EQ(cuTexRefSetAddress2D(reference_, &rows, memory_, 256), kBad);
  EXPECT_EQ(cuTexRefSetFormat(reference_, CU_AD_FORMAT_FLOAT, 3), kBad);
  CUtexref gone = nullptr;
  SIM_OK(cuTexRefCreate(&gone));
  SIM_OK(cuTexRefDestroy(gone));
  EXPECT_EQ(cuTexRefSetAddress(&offset, gone, memory_, 64), kBad);
}

using UnsupportedTest = SimTest;

TEST_F(UnsupportedTest, MulticastObjects) {
  int value = -1;
  SIM_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
  EXPECT_EQ(value, 0);
  CUmulticastObjectProp prop = {2, kGranularity, 0, 0};
  CUmemGenericAllocationHandle group = 7;
  EXPECT_EQ(cuMulticastCreate(&group, &prop), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(group, 7u);
  prop.size = 1;
  EXPECT_EQ(cuMulticastCreate(&group, &prop), CUDA_ERROR_INVALID_VALUE);
  const Chunk chunk = MapChunk(DeviceProp());
  EXPECT_EQ(cuMulticastBindMem(group, 0, chunk.handle, 0, chunk.size, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMulticastBindMem(group, 0, 12345, 0, chunk.size, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMulticastBindAddr(group, 0, chunk.address, chunk.size, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMulticastBindAddr(group, 0, chunk.address, 4096, 0), CUDA_ERROR_INVALID_VALUE);
  UnmapChunk(chunk);
  EXPECT_EQ(cuMulticastBindAddr(group, 0, chunk.address, chunk.size, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(UnsupportedTest, DecompressionOfTheirOwn) {
  int value = -1;
  SIM_OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK, 0));
  EXPECT_EQ(value, 0);
  CUmemDecompressParams params = {};
  size_t failed = 0;
  EXPECT_EQ(cuMemBatchDecompressAsync(&params, 1, 0, &failed, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(failed, SIZE_MAX);
  EXPECT_EQ(cuMemBatchDecompressAsync(&params, 0, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace simcuda
