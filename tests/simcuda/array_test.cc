// Arrays: what they are made of, what may be copied where, and that their memory is the device's.

#include <cstring>
#include <numeric>

#include "tests/simcuda/sim_fixture.h"

namespace simcuda {
namespace {

using Bytes = std::vector<unsigned char>;

class ArrayTest : public SimTest {
 protected:
  static Bytes Pattern(size_t size, unsigned seed = 7) {
    Bytes bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * seed + i / 256);
    return bytes;
  }
  // Of two floats.
  static CUarray Make(size_t width, size_t height, size_t depth = 0, unsigned flags = 0) {
    CUarray array = nullptr;
    EXPECT_EQ(TryMake(&array, width, height, depth, flags), CUDA_SUCCESS);
    return array;
  }
  static CUresult TryMake(CUarray* array, size_t width, size_t height, size_t depth,
                          unsigned flags = 0) {
    const CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, CU_AD_FORMAT_FLOAT, 2, flags};
    return cuArray3DCreate(array, &d);
  }
  static CUDA_MEMCPY3D Box(size_t width, size_t height, size_t depth) {
    CUDA_MEMCPY3D copy = {};
    copy.WidthInBytes = width;
    copy.Height = height;
    copy.Depth = depth;
    return copy;
  }
  static CUDA_MEMCPY3D ToArray(const Bytes& from, CUarray to, size_t width, size_t height,
                               size_t depth) {
    CUDA_MEMCPY3D copy = Box(width, height, depth);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from.data();
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = to;
    return copy;
  }
  static CUDA_MEMCPY3D FromArray(CUarray from, Bytes* to, size_t width, size_t height,
                                 size_t depth) {
    CUDA_MEMCPY3D copy = Box(width, height, depth);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = from;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = to->data();
    return copy;
  }
};

TEST_F(ArrayTest, SayWhatTheyAre) {
  const CUDA_ARRAY_DESCRIPTOR made = {64, 32, CU_AD_FORMAT_UNSIGNED_INT16, 4};
  CUarray array = nullptr;
  SIM_OK(cuArrayCreate(&array, &made));
  CUDA_ARRAY_DESCRIPTOR flat = {};
  SIM_OK(cuArrayGetDescriptor(&flat, array));
  EXPECT_EQ(flat.Width, 64u);
  EXPECT_EQ(flat.Height, 32u);
  EXPECT_EQ(flat.Format, CU_AD_FORMAT_UNSIGNED_INT16);
  EXPECT_EQ(flat.NumChannels, 4u);
  const CUarray other = Make(8, 4, 6, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST);
  CUDA_ARRAY3D_DESCRIPTOR deep = {};
  SIM_OK(cuArray3DGetDescriptor(&deep, other));
  EXPECT_EQ(deep.Depth, 6u);
  EXPECT_EQ(deep.Flags, unsigned{CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST});
  SIM_OK(cuArray3DGetDescriptor(&deep, array));
  EXPECT_EQ(deep.Depth, 0u);
  SIM_OK(cuArrayDestroy(array));
  const unsigned long long stale = simcudaStaleHandleUses();
  EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuArrayGetDescriptor(&flat, array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(simcudaStaleHandleUses(), stale + 2);
}

TEST_F(ArrayTest, ThatAreRefused) {
  constexpr CUresult kBad = CUDA_ERROR_INVALID_VALUE;
  CUarray array = nullptr;
  EXPECT_EQ(TryMake(&array, 0, 1, 0), kBad);
  EXPECT_EQ(TryMake(nullptr, 1, 1, 0), kBad);
  EXPECT_EQ(TryMake(&array, 131073, 0, 0), kBad);
  EXPECT_EQ(TryMake(&array, 8, 65537, 0), kBad);
  EXPECT_EQ(TryMake(&array, 8, 0, 8), kBad) << "neither layers nor a volume";
  EXPECT_EQ(TryMake(&array, 16385, 1, 1), kBad);
  EXPECT_EQ(TryMake(&array, 8, 0, 2049, CUDA_ARRAY3D_LAYERED), kBad);
  EXPECT_EQ(TryMake(&array, 8, 8, 0, CUDA_ARRAY3D_LAYERED), kBad);
  EXPECT_EQ(TryMake(&array, 8, 4, 6, CUDA_ARRAY3D_CUBEMAP), kBad);
  EXPECT_EQ(TryMake(&array, 8, 8, 5, CUDA_ARRAY3D_CUBEMAP), kBad);
  EXPECT_EQ(TryMake(&array, 8, 8, 0, CUDA_ARRAY3D_SPARSE), CUDA_ERROR_NOT_SUPPORTED);
  CUDA_ARRAY_DESCRIPTOR d = {8, 8, CU_AD_FORMAT_FLOAT, 3};
  EXPECT_EQ(cuArrayCreate(&array, &d), kBad);
  d = {8, 8, CU_AD_FORMAT_NV12, 4};
  EXPECT_EQ(cuArrayCreate(&array, &d), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuArrayCreate(&array, nullptr), kBad);
  EXPECT_EQ(array, nullptr);
  EXPECT_EQ(cuArrayDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ArrayTest, TakeTheDevicesMemoryAndGiveItBack) {
  size_t before = 0, during = 0, after = 0, total = 0;
  SIM_OK(cuMemGetInfo(&before, &total));
  const CUarray array = Make(1024, 1024);  // 8 MiB.
  SIM_OK(cuMemGetInfo(&during, &total));
  EXPECT_EQ(before - during, 8 * kMiB);
  CUarray none = nullptr;
  EXPECT_EQ(TryMake(&none, 16384, 4096, 0), CUDA_ERROR_OUT_OF_MEMORY) << "512 MiB";
  EXPECT_EQ(none, nullptr);
  SIM_OK(cuArrayDestroy(array));
  SIM_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
}

// The fixture sees that nothing is left of the memory.
TEST_F(ArrayTest, GoWithTheirContext) {
  CUcontext other = nullptr;
  SIM_OK(cuCtxCreate(&other, nullptr, 0, 0));
  const CUarray array = Make(512, 512);
  CUmipmappedArray mipmapped = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR d = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  SIM_OK(cuMipmappedArrayCreate(&mipmapped, &d, 3));
  CUarray level = nullptr;
  SIM_OK(cuMipmappedArrayGetLevel(&level, mipmapped, 1));
  SIM_OK(cuCtxDestroy(other));
  SIM_OK(cuCtxSetCurrent(context_));
  EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmapped), CUDA_ERROR_INVALID_HANDLE);
  CUDA_ARRAY_DESCRIPTOR flat = {};
  EXPECT_EQ(cuArrayGetDescriptor(&flat, level), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ArrayTest, VolumesAreCopiedByBoxes) {
  const size_t width = 16 * 8, height = 8, depth = 4;
  const Bytes in = Pattern(width * height * depth);
  const CUarray first = Make(16, 8, 4), second = Make(32, 9, 5);
  const CUDA_MEMCPY3D whole = ToArray(in, first, width, height, depth);
  SIM_OK(cuMemcpy3D(&whole));
  // A part of the one to elsewhere in the other, and that to the host.
  CUDA_MEMCPY3D part = Box(24, 3, 2);
  part.srcMemoryType = part.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  part.srcArray = first;
  part.srcXInBytes = 16;
  part.srcY = 2;
  part.srcZ = 1;
  part.dstArray = second;
  part.dstXInBytes = 40;
  part.dstY = 5;
  part.dstZ = 3;
  SIM_OK(cuMemcpy3D(&part));
  Bytes out(24 * 3 * 2);
  CUDA_MEMCPY3D back = FromArray(second, &out, 24, 3, 2);
  back.srcXInBytes = 40;
  back.srcY = 5;
  back.srcZ = 3;
  SIM_OK(cuMemcpy3DAsync(&back, nullptr));
  SIM_OK(cuStreamSynchronize(nullptr));
  for (size_t z = 0; z < 2; ++z) {
    for (size_t y = 0; y < 3; ++y) {
      const unsigned char* const wanted = &in[((z + 1) * height + y + 2) * width + 16];
      EXPECT_EQ(memcmp(&out[(z * 3 + y) * 24], wanted, 24), 0) << z << ' ' << y;
    }
  }
}

TEST_F(ArrayTest, RowsGoToDeviceMemoryAndBack) {
  const size_t row = 64 * 8;
  const Bytes in = Pattern(row * 16);
  const CUarray array = Make(64, 16);
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAlloc(&memory, 1024 * 16));
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = row;
  copy.Height = 16;
  SIM_OK(cuMemcpy2D(&copy));
  copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.dstPitch = 1024;
  copy.WidthInBytes = row;
  copy.Height = 16;
  SIM_OK(cuMemcpy2DUnaligned(&copy));
  Bytes out(row);
  for (size_t y = 0; y < 16; ++y) {
    SIM_OK(cuMemcpyDtoH(out.data(), memory + y * 1024, row));
    EXPECT_EQ(memcmp(out.data(), &in[y * row], row), 0) << y;
  }
  // A copy goes when its turn comes, as of other memory.
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  {
    Gate gate;
    gate.Park(stream);
    std::swap(copy.srcMemoryType, copy.dstMemoryType);
    copy.srcDevice = memory;
    copy.srcPitch = 1024;
    copy.dstArray = array;
    copy.srcArray = nullptr;
    SIM_OK(cuMemcpy2DAsync(&copy, stream));
    SIM_OK(cuMemsetD8Async(memory, 9, 1024, stream));
    EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  }
  SIM_OK(cuStreamSynchronize(stream));
  CUDA_MEMCPY3D back = FromArray(array, &out, row, 1, 1);
  SIM_OK(cuMemcpy3D(&back));
  EXPECT_EQ(memcmp(out.data(), in.data(), row), 0);
}

TEST_F(ArrayTest, LinearOnesAreCopiedByBytes) {
  const Bytes in = Pattern(800), more = Pattern(80, 3);
  const CUarray first = Make(100, 0), second = Make(100, 1);
  CUdeviceptr memory = 0;
  SIM_OK(cuMemAlloc(&memory, 800));
  SIM_OK(cuMemcpyHtoA(first, 0, in.data(), 800));
  SIM_OK(cuMemcpyAtoA(second, 80, first, 160, 640));
  SIM_OK(cuMemcpyHtoAAsync(second, 0, more.data(), 80, nullptr));
  SIM_OK(cuMemcpyAtoD(memory, second, 0, 720));
  SIM_OK(cuMemcpyDtoA(first, 8, memory, 720));
  Bytes out(720), last(8);
  SIM_OK(cuMemcpyAtoH(out.data(), first, 8, 720));
  EXPECT_EQ(memcmp(out.data(), more.data(), 80), 0);
  EXPECT_EQ(memcmp(&out[80], &in[160], 640), 0);
  SIM_OK(cuMemcpyAtoHAsync(last.data(), first, 792, 8, nullptr));
  SIM_OK(cuStreamSynchronize(nullptr));
  EXPECT_EQ(memcmp(last.data(), &in[792], 8), 0);
  EXPECT_EQ(cuMemcpyAtoH(out.data(), first, 800, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoA(first, ~size_t{7}, in.data(), 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyAtoH(out.data(), Make(8, 8), 0, 8), CUDA_ERROR_INVALID_VALUE)
      << "for arrays of one row";
  EXPECT_EQ(cuMemcpyAtoH(out.data(), nullptr, 0, 8), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArrayTest, CopiesThatAreRefused) {
  const Bytes in = Pattern(4096);
  // Behind a level there is memory, too: the next one's.
  const CUDA_ARRAY3D_DESCRIPTOR d = {16, 8, 4, CU_AD_FORMAT_FLOAT, 2, 0};
  CUmipmappedArray mipmapped = nullptr;
  CUarray array = nullptr;
  SIM_OK(cuMipmappedArrayCreate(&mipmapped, &d, 2));
  SIM_OK(cuMipmappedArrayGetLevel(&array, mipmapped, 0));
  const auto refused = [&](auto change) {
    CUDA_MEMCPY3D copy = ToArray(in, array, 64, 2, 2);
    change(copy);
    EXPECT_EQ(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
  };
  refused([](auto& c) { c.dstXInBytes = 72; });
  refused([](auto& c) { c.dstXInBytes = 4; });
  refused([](auto& c) { c.WidthInBytes = 60; });
  refused([](auto& c) { c.dstY = 7; });
  refused([](auto& c) { c.dstZ = 3; });
  refused([](auto& c) { c.dstZ = ~size_t{0}; });
  refused([](auto& c) { c.dstArray = nullptr; });
  refused([](auto& c) { c.dstMemoryType = static_cast<CUmemorytype>(9); });
  const CUDA_MEMCPY3D right = ToArray(in, array, 64, 2, 2);
  SIM_EXPECT_OK(cuMemcpy3D(&right));
}

TEST_F(ArrayTest, LevelsHalveAndHaveMemoryOfTheirOwn) {
  const CUDA_ARRAY3D_DESCRIPTOR d = {16, 5, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
  CUmipmappedArray mipmapped = nullptr;
  SIM_OK(cuMipmappedArrayCreate(&mipmapped, &d, 99));
  const size_t widths[] = {16, 8, 4, 2, 1}, heights[] = {5, 2, 1, 1, 1};
  CUarray levels[5];
  for (unsigned i = 0; i < 5; ++i) {
    SIM_OK(cuMipmappedArrayGetLevel(&levels[i], mipmapped, i));
    CUDA_ARRAY_DESCRIPTOR level = {};
    SIM_OK(cuArrayGetDescriptor(&level, levels[i]));
    EXPECT_EQ(level.Width, widths[i]);
    EXPECT_EQ(level.Height, heights[i]);
    const Bytes filled(80, static_cast<unsigned char>(i + 1));
    const CUDA_MEMCPY3D in = ToArray(filled, levels[i], widths[i], heights[i], 1);
    SIM_OK(cuMemcpy3D(&in));
  }
  for (unsigned i = 0; i < 5; ++i) {
    Bytes out(widths[i] * heights[i]);
    const CUDA_MEMCPY3D back = FromArray(levels[i], &out, widths[i], heights[i], 1);
    SIM_OK(cuMemcpy3D(&back));
    EXPECT_EQ(out, Bytes(out.size(), static_cast<unsigned char>(i + 1))) << i;
  }
  CUarray none = nullptr;
  EXPECT_EQ(cuMipmappedArrayGetLevel(&none, mipmapped, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuArrayDestroy(levels[1]), CUDA_ERROR_INVALID_HANDLE);
  SIM_OK(cuMipmappedArrayDestroy(mipmapped));
  EXPECT_EQ(cuMipmappedArrayDestroy(mipmapped), CUDA_ERROR_INVALID_HANDLE);
  CUDA_ARRAY_DESCRIPTOR level = {};
  EXPECT_EQ(cuArrayGetDescriptor(&level, levels[0]), CUDA_ERROR_INVALID_HANDLE);
}

// Layers are as many in every level.
TEST_F(ArrayTest, LayersStay) {
  const CUDA_ARRAY3D_DESCRIPTOR d = {8, 8, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED};
  CUmipmappedArray mipmapped = nullptr;
  SIM_OK(cuMipmappedArrayCreate(&mipmapped, &d, 4));
  CUarray level = nullptr;
  SIM_OK(cuMipmappedArrayGetLevel(&level, mipmapped, 3));
  CUDA_ARRAY3D_DESCRIPTOR last = {};
  SIM_OK(cuArray3DGetDescriptor(&last, level));
  EXPECT_EQ(last.Width, 1u);
  EXPECT_EQ(last.Depth, 5u);
}

// Where an array takes part, lengths and offsets are its elements.
TEST_F(ArrayTest, BatchesCountElements) {
  const Bytes in = Pattern(16 * 8 * 4);
  const CUarray array = Make(16, 8);
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUDA_MEMCPY3D_BATCH_OP op = {};
  op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = reinterpret_cast<CUdeviceptr>(in.data());
  op.src.op.ptr.rowLength = 16;
  op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  op.dst.op.array.array = array;
  op.dst.op.array.offset = {2, 3, 0};
  op.extent = {4, 4, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  SIM_OK(cuMemcpy3DBatchAsync(1, &op, 0, stream));
  SIM_OK(cuStreamSynchronize(stream));
  Bytes out(32 * 4);
  CUDA_MEMCPY3D back = FromArray(array, &out, 32, 4, 1);
  back.srcXInBytes = 16;
  back.srcY = 3;
  SIM_OK(cuMemcpy3D(&back));
  for (size_t y = 0; y < 4; ++y) EXPECT_EQ(memcmp(&out[y * 32], &in[y * 128], 32), 0) << y;
  op.dst.op.array.offset = {13, 0, 0};
  EXPECT_EQ(cuMemcpy3DBatchAsync(1, &op, 0, stream), CUDA_ERROR_INVALID_VALUE);
  op.dst.op.array = {nullptr, {}};
  EXPECT_EQ(cuMemcpy3DBatchAsync(1, &op, 0, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArrayTest, GraphsCopyThem) {
  const Bytes in = Pattern(1024), other = Pattern(1024, 3);
  const CUarray array = Make(16, 8, 1);
  CUDA_MEMCPY3D params = ToArray(in, array, 64, 4, 1);
  params.dstXInBytes = 8;
  params.dstY = 2;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  SIM_OK(cuGraphCreate(&graph, 0));
  SIM_OK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &params, context_));
  CUDA_MEMCPY3D told = {};
  SIM_OK(cuGraphMemcpyNodeGetParams(node, &told));
  EXPECT_EQ(told.dstMemoryType, CU_MEMORYTYPE_ARRAY);
  EXPECT_EQ(told.dstArray, array);
  EXPECT_EQ(told.dstXInBytes, 8u);
  EXPECT_EQ(told.dstY, 2u);
  EXPECT_EQ(told.dstZ, 0u);
  EXPECT_EQ(told.srcMemoryType, CU_MEMORYTYPE_HOST);
  SIM_OK(cuGraphInstantiate(&exec, graph, 0));
  SIM_OK(cuGraphLaunch(exec, nullptr));
  SIM_OK(cuStreamSynchronize(nullptr));
  Bytes out(64 * 4);
  told = FromArray(array, &out, 64, 4, 1);
  told.srcXInBytes = 8;
  told.srcY = 2;
  SIM_OK(cuMemcpy3D(&told));
  EXPECT_EQ(memcmp(out.data(), in.data(), 256), 0);
  SIM_OK(cuGraphExecDestroy(exec));
  SIM_OK(cuGraphDestroy(graph));
}

// Its memory is in use until the work is done that may touch it.
TEST_F(ArrayTest, DestroyingWaits) {
  const CUarray array = Make(64, 1);
  void* pinned = nullptr;
  SIM_OK(cuMemAllocHost(&pinned, 512));
  memset(pinned, 5, 512);
  SIM_OK(cuMemcpyHtoA(array, 0, pinned, 512));
  memset(pinned, 0, 512);
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::atomic<bool> reached{false};
  SIM_OK(LaunchFunction(stream, [&] {
    LetWorkersRun();
    reached = true;
  }));
  SIM_OK(cuMemcpyAtoHAsync(pinned, array, 0, 512, stream));
  SIM_OK(cuArrayDestroy(array));
  EXPECT_TRUE(reached);
  EXPECT_EQ(static_cast<char*>(pinned)[511], 5);
}

TEST_F(ArrayTest, AreNotMadeInACapture) {
  CUstream stream = nullptr;
  SIM_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUarray array = Make(8, 8);
  SIM_OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUarray none = nullptr;
  EXPECT_EQ(TryMake(&none, 8, 8, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  SIM_OK(cuArrayDestroy(array));
}

}  // namespace
}  // namespace simcuda
