// Copies and fills.

#include <cstring>
#include <numeric>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

class CopyTest : public SimTest {
 protected:
  CUdeviceptr Alloc(size_t size) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuMemAlloc(&address, size), CUDA_SUCCESS);
    return address;
  }
  static std::vector<unsigned char> Pattern(size_t size) {
    std::vector<unsigned char> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256);
    return bytes;
  }
};

TEST_F(CopyTest, ThereAndBack) {
  for (const size_t size : {size_t{1}, size_t{4096}, size_t{65536}, 3 * kMiB}) {
    const auto in = Pattern(size);
    std::vector<unsigned char> out(size);
    const CUdeviceptr a = Alloc(size);
    const CUdeviceptr b = Alloc(size);
    SIM_OK(cuMemcpyHtoD(a, in.data(), size));
    SIM_OK(cuMemcpyDtoD(b, a, size));
    SIM_OK(cuMemcpyDtoH(out.data(), b, size));
    EXPECT_EQ(in, out);
    SIM_EXPECT_OK(cuMemFree(a));
    SIM_EXPECT_OK(cuMemFree(b));
  }
}

TEST_F(CopyTest, GenericCopyTakesAnyPointer) {
  const auto in = Pattern(1000);
  std::vector<unsigned char> out(1000);
  const CUdeviceptr device = Alloc(1000);
  SIM_OK(cuMemcpy(device, reinterpret_cast<CUdeviceptr>(in.data()), 1000));
  SIM_OK(cuMemcpy(reinterpret_cast<CUdeviceptr>(out.data()), device, 1000));
  EXPECT_EQ(in, out);
}

TEST_F(CopyTest, AsyncCopiesOfPageLockedMemoryDoNotWait) {
  void* pinned = nullptr;
  SIM_OK(cuMemAllocHost(&pinned, kMiB));
  const CUdeviceptr device = Alloc(kMiB);
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Gate gate;
  gate.Park(stream);
  memset(pinned, 3, kMiB);
  SIM_OK(cuMemcpyHtoDAsync(device, pinned, kMiB, stream));
  SIM_OK(cuMemsetD8Async(device + 10, 9, 1, stream));
  SIM_OK(cuMemcpyDtoHAsync(pinned, device, kMiB, stream));
  EXPECT_EQ(static_cast<char*>(pinned)[10], 3);
  gate.Open();
  SIM_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(static_cast<char*>(pinned)[9], 3);
  EXPECT_EQ(static_cast<char*>(pinned)[10], 9);
}

// A small pageable source is read before the call returns, so it may change afterwards.
TEST_F(CopyTest, SmallPageableSourcesAreStaged) {
  const CUdeviceptr device = Alloc(4096);
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<unsigned char> source(4096, 1);
  {
    Gate gate;
    gate.Park(stream);
    SIM_OK(cuMemcpyHtoDAsync(device, source.data(), source.size(), stream));
    source.assign(source.size(), 2);
  }
  SIM_OK(cuStreamSynchronize(stream));
  SIM_OK(cuMemcpyDtoH(source.data(), device, source.size()));
  EXPECT_EQ(source, std::vector<unsigned char>(4096, 1));
}

TEST_F(CopyTest, AcrossDeviceAndHostChunks) {
  CUdeviceptr base = 0;
  const CUmemAccessDesc access = DeviceAccess();
  SIM_OK(cuMemAddressReserve(&base, 4 * kGranularity, 0, 0, 0));
  std::vector<CUmemGenericAllocationHandle> handles(4);
  for (size_t i = 0; i < 4; ++i) {
    const CUmemAllocationProp prop = i % 2 == 0 ? DeviceProp() : HostProp();
    SIM_OK(cuMemCreate(&handles[i], kGranularity, &prop, 0));
    SIM_OK(cuMemMap(base + i * kGranularity, kGranularity, 0, handles[i], 0));
  }
  SIM_OK(cuMemSetAccess(base, 4 * kGranularity, &access, 1));
  const auto in = Pattern(3 * kGranularity);
  std::vector<unsigned char> out(in.size());
  SIM_OK(cuMemcpyHtoD(base + kMiB, in.data(), in.size()));
  SIM_OK(cuMemcpyDtoH(out.data(), base + kMiB, out.size()));
  EXPECT_EQ(in, out);
  SIM_OK(cuMemUnmap(base, 4 * kGranularity));
  for (const auto handle : handles) SIM_EXPECT_OK(cuMemRelease(handle));
  SIM_EXPECT_OK(cuMemAddressFree(base, 4 * kGranularity));
}

TEST_F(CopyTest, TwoDimensions) {
  constexpr size_t kWidth = 100;
  constexpr size_t kHeight = 20;
  CUdeviceptr device = 0;
  size_t pitch = 0;
  SIM_OK(cuMemAllocPitch(&device, &pitch, kWidth, kHeight, 4));
  EXPECT_EQ(pitch % 512, 0u);
  const auto in = Pattern(kWidth * kHeight);
  std::vector<unsigned char> out(in.size());
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.srcPitch = kWidth;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = pitch;
  copy.WidthInBytes = kWidth;
  copy.Height = kHeight;
  SIM_OK(cuMemcpy2D(&copy));
  // A rectangle in the middle, to the same place.
  CUDA_MEMCPY2D back = {};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = device;
  back.srcPitch = pitch;
  back.srcXInBytes = 10;
  back.srcY = 5;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = out.data();
  back.dstPitch = kWidth;
  back.dstXInBytes = 10;
  back.dstY = 5;
  back.WidthInBytes = 50;
  back.Height = 10;
  SIM_OK(cuMemcpy2D(&back));
  for (size_t y = 0; y < kHeight; ++y) {
    for (size_t x = 0; x < kWidth; ++x) {
      const bool inside = x >= 10 && x < 60 && y >= 5 && y < 15;
      ASSERT_EQ(out[y * kWidth + x], inside ? in[y * kWidth + x] : 0) << x << "," << y;
    }
  }
  back.srcPitch = 20;
  EXPECT_EQ(cuMemcpy2D(&back), CUDA_ERROR_INVALID_VALUE);
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuMemcpy2D(&back), CUDA_ERROR_INVALID_VALUE) << "no array";
}

TEST_F(CopyTest, ThreeDimensions) {
  constexpr size_t kEdge = 8;
  const auto in = Pattern(kEdge * kEdge * kEdge);
  std::vector<unsigned char> out(in.size());
  const CUdeviceptr device = Alloc(in.size());
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.srcPitch = kEdge;
  copy.srcHeight = kEdge;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = kEdge;
  copy.dstHeight = kEdge;
  copy.WidthInBytes = kEdge;
  copy.Height = kEdge;
  copy.Depth = kEdge;
  SIM_OK(cuMemcpy3D(&copy));
  copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = device;
  copy.srcPitch = kEdge;
  copy.srcHeight = kEdge;
  copy.srcZ = 2;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = out.data();
  copy.dstPitch = kEdge;
  copy.dstHeight = kEdge;
  copy.WidthInBytes = kEdge;
  copy.Height = kEdge;
  copy.Depth = 3;
  SIM_OK(cuMemcpy3D(&copy));
  EXPECT_EQ(memcmp(out.data(), in.data() + 2 * kEdge * kEdge, 3 * kEdge * kEdge), 0);
}

TEST_F(CopyTest, Fills) {
  const CUdeviceptr device = Alloc(4096);
  std::vector<uint16_t> words(2048);
  SIM_OK(cuMemsetD8(device, 0xAB, 4096));
  SIM_OK(cuMemsetD16(device + 2, 0x1234, 3));
  SIM_OK(cuMemsetD32(device + 16, 0xDEADBEEF, 2));
  SIM_OK(cuMemcpyDtoH(words.data(), device, 4096));
  const std::vector<uint16_t> start(words.begin(), words.begin() + 13);
  EXPECT_EQ(start, (std::vector<uint16_t>{0xABAB, 0x1234, 0x1234, 0x1234, 0xABAB, 0xABAB, 0xABAB,
                                          0xABAB, 0xBEEF, 0xDEAD, 0xBEEF, 0xDEAD, 0xABAB}));
  EXPECT_EQ(cuMemsetD32(device + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(device, 1, 3 * kMiB), CUDA_ERROR_INVALID_VALUE);

  SIM_OK(cuMemsetD8(device, 0, 4096));
  SIM_OK(cuMemsetD2D16(device, 128, 0xFFFF, 2, 3));
  SIM_OK(cuMemcpyDtoH(words.data(), device, 4096));
  for (size_t i = 0; i < words.size(); ++i) {
    const bool inside = i / 64 < 3 && i % 64 < 2;
    ASSERT_EQ(words[i], inside ? 0xFFFF : 0) << i;
  }
}

TEST_F(CopyTest, WrongAddressesAreRefused) {
  std::vector<char> host(64);
  const CUdeviceptr device = Alloc(64);
  const auto unknown = reinterpret_cast<CUdeviceptr>(host.data());
  EXPECT_EQ(cuMemcpyHtoD(unknown, host.data(), 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(host.data(), unknown, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(device, nullptr, 64), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(device, host.data(), 4096), CUDA_ERROR_INVALID_VALUE);
  SIM_EXPECT_OK(cuMemcpyHtoD(device, host.data(), 0));
  EXPECT_EQ(cuMemcpyHtoDAsync(device, host.data(), 64, reinterpret_cast<CUstream>(99)),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CopyTest, Batches) {
  CUdeviceptr dsts[2] = {Alloc(64), Alloc(64)};
  CUdeviceptr srcs[2] = {Alloc(64), Alloc(64)};
  size_t sizes[2] = {64, 64};
  SIM_OK(cuMemsetD8(srcs[0], 1, 64));
  SIM_OK(cuMemsetD8(srcs[1], 2, 64));
  SIM_OK(cuCtxSynchronize());
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t index = 0;
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  SIM_OK(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, &index, 1, stream));
  SIM_OK(cuStreamSynchronize(stream));
  char byte = 0;
  SIM_OK(cuMemcpyDtoH(&byte, dsts[1] + 63, 1));
  EXPECT_EQ(byte, 2);
}

TEST_F(CopyTest, BatchesOfBoxes) {
  const auto in = Pattern(4096);
  const CUdeviceptr from = Alloc(4096), to = Alloc(4096);
  SIM_OK(cuMemcpyHtoD(from, in.data(), in.size()));
  SIM_OK(cuMemsetD8(to, 0, 4096));
  SIM_OK(cuCtxSynchronize());
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  // Two layers of three rows of ten bytes: in rows of 64, four to a layer; then tight.
  CUDA_MEMCPY3D_BATCH_OP op = {};
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = from;
  op.src.op.ptr.rowLength = 64;
  op.src.op.ptr.layerHeight = 4;
  op.dst.op.ptr.ptr = to;
  op.extent = {10, 3, 2};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  CUDA_MEMCPY3D_BATCH_OP ops[] = {op, op};
  ops[1].dst.op.ptr.ptr = to + 1024;
  SIM_OK(cuMemcpy3DBatchAsync(2, ops, 0, stream));
  SIM_OK(cuStreamSynchronize(stream));
  std::vector<unsigned char> out(4096);
  SIM_OK(cuMemcpyDtoH(out.data(), to, out.size()));
  for (const size_t start : {0, 1024}) {
    for (size_t z = 0; z < 2; ++z) {
      for (size_t y = 0; y < 3; ++y) {
        EXPECT_EQ(memcmp(&out[start + (z * 3 + y) * 10], &in[z * 256 + y * 64], 10), 0);
      }
    }
    EXPECT_EQ(out[start + 60], 0);
  }

  const auto refused = [&](auto change) {
    CUDA_MEMCPY3D_BATCH_OP bad = op;
    change(bad);
    return cuMemcpy3DBatchAsync(1, &bad, 0, stream);
  };
  EXPECT_EQ(refused([](auto& o) { o.extent.depth = 0; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](auto& o) { o.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID; }),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](auto& o) { o.src.op.ptr.rowLength = 9; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](auto& o) { o.src.op.ptr.layerHeight = 2; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3DBatchAsync(1, &op, 1, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3DBatchAsync(0, &op, 0, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3DBatchAsync(1, nullptr, 0, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy3DBatchAsync(1, &op, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace simcuda
