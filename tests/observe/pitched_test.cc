// Copies of rows, batches of copies, and what streams wait for and write.

#include <cstring>

#include "tests/observe/decoder_fixture.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PitchedTest : public DecoderTest {
 protected:
  // Between two places of the arena.
  CUDA_MEMCPY2D Rows(uint64_t target, size_t target_pitch, uint64_t source, size_t source_pitch,
                     size_t width, size_t height) const {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = At(target);
    copy.dstPitch = target_pitch;
    copy.srcDevice = At(source);
    copy.srcPitch = source_pitch;
    copy.WidthInBytes = width;
    copy.Height = height;
    return copy;
  }

  char host_[4096] = {};
};

TEST_F(PitchedTest, RowsWithGaps) {
  CUDA_MEMCPY2D copy = Rows(0, 1024, 1 << 20, 100, 100, 5);
  const Submission s = Decode(CALL(cuMemcpy2DAsync_v2), cuMemcpy2DAsync_v2_params{&copy, stream_});
  EXPECT_EQ(s.kind, Kind::kCopy);
  EXPECT_EQ(s.stream, stream_);
  EXPECT_THAT(s.touches,
              ElementsAre(Writes(0, 4 * 1024 + 100, /*linear=*/false), Reads(1 << 20, 500)));
  copy.dstXInBytes = 8;
  copy.dstY = 2;
  for (const uint32_t call :
       {CALL(cuMemcpy2D_v2), CALL(cuMemcpy2DUnaligned_v2), CALL(cuMemcpy2D_v2_ptds)}) {
    EXPECT_THAT(
        TouchesOf(call, cuMemcpy2D_v2_params{&copy}),
        ElementsAre(Writes(2 * 1024 + 8, 4 * 1024 + 100, /*linear=*/false), Reads(1 << 20, 500)));
  }
  copy.Height = 1;
  EXPECT_THAT(TouchesOf(CALL(cuMemcpy2D_v2), cuMemcpy2D_v2_params{&copy}),
              ElementsAre(Writes(2 * 1024 + 8, 100), Reads(1 << 20, 100)));
  copy.Height = 0;
  EXPECT_THAT(TouchesOf(CALL(cuMemcpy2D_v2), cuMemcpy2D_v2_params{&copy}), IsEmpty());
  EXPECT_THAT(TouchesOf(CALL(cuMemcpy2D_v2), cuMemcpy2D_v2_params{nullptr}), IsEmpty());
}

// A program that is wrong gets the driver's refusal, as without vramspan.
TEST_F(PitchedTest, NumbersThatOverflowAreNoCopy) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host_;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = At(0);
  copy.WidthInBytes = 16;
  for (const size_t many : {size_t{1} << 32, size_t{1} << 63}) {
    copy.Height = copy.Depth = many;  // Their product is 0.
    const Submission s = Decode(CALL(cuMemcpy3D_v2), cuMemcpy3D_v2_params{&copy});
    EXPECT_THAT(s.host_copies, IsEmpty());
  }
  copy.WidthInBytes = size_t{1} << 63;
  copy.Height = 2;
  copy.Depth = 1;
  EXPECT_THAT(Decode(CALL(cuMemcpy3D_v2), cuMemcpy3D_v2_params{&copy}).host_copies, IsEmpty());
}

TEST_F(PitchedTest, RowsFromHostMemory) {
  CUDA_MEMCPY2D copy = Rows(4096, 64, 0, 128, 64, 3);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host_;
  const Submission s = Decode(CALL(cuMemcpy2D_v2), cuMemcpy2D_v2_params{&copy});
  EXPECT_TRUE(Decoder::CopiesFromHost(CALL(cuMemcpy2D_v2)));
  EXPECT_THAT(s.touches, ElementsAre(Writes(4096, 192)));
  ASSERT_THAT(s.host_copies, SizeIs(3));
  EXPECT_EQ(s.host_copies[2].source, host_ + 256);
  EXPECT_EQ(s.host_copies[2].target, DevicePtr(At(4096 + 128)));
  EXPECT_EQ(s.host_copies[2].size, Bytes(64));

  copy.srcPitch = 64;
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = reinterpret_cast<uintptr_t>(host_);
  const Submission whole = Decode(CALL(cuMemcpy2D_v2), cuMemcpy2D_v2_params{&copy});
  ASSERT_THAT(whole.host_copies, SizeIs(1));
  EXPECT_EQ(whole.host_copies[0].source, host_);
  EXPECT_EQ(whole.host_copies[0].size, Bytes(192));

  copy.Height = 1025;
  EXPECT_THAT(Decode(CALL(cuMemcpy2D_v2), cuMemcpy2D_v2_params{&copy}).host_copies, IsEmpty());
  copy.srcPitch = 128;
  copy.Height = 257;
  EXPECT_THAT(Decode(CALL(cuMemcpy2D_v2), cuMemcpy2D_v2_params{&copy}).host_copies, IsEmpty());
}

TEST_F(PitchedTest, Layers) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = arena_;
  copy.dstPitch = 64;
  copy.dstHeight = 10;
  copy.dstZ = 1;
  copy.WidthInBytes = 64;
  copy.Height = 4;
  copy.Depth = 3;
  for (const uint32_t call : {CALL(cuMemcpy3D_v2), CALL(cuMemcpy3D_v2_ptds)}) {
    EXPECT_THAT(TouchesOf(call, cuMemcpy3D_v2_params{&copy}),
                ElementsAre(Writes(640, 2 * 640 + 4 * 64, /*linear=*/false)));
  }
  copy.dstHeight = 4;
  EXPECT_THAT(TouchesOf(CALL(cuMemcpy3DAsync_v2), cuMemcpy3DAsync_v2_params{&copy, stream_}),
              ElementsAre(Writes(256, 3 * 256)));

  CUDA_MEMCPY3D_PEER peer = {};
  peer.srcMemoryType = peer.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  peer.srcDevice = At(0);
  peer.dstDevice = At(1 << 20);
  peer.WidthInBytes = 100;
  peer.Height = peer.Depth = 1;
  EXPECT_THAT(TouchesOf(CALL(cuMemcpy3DPeer), cuMemcpy3DPeer_params{&peer}),
              ElementsAre(Writes(1 << 20, 100), Reads(0, 100)));
  EXPECT_THAT(TouchesOf(CALL(cuMemcpy3DPeerAsync_ptsz), cuMemcpy3DPeerAsync_params{&peer, stream_}),
              SizeIs(2));
}

TEST_F(PitchedTest, Batches) {
  CUdeviceptr targets[] = {At(0), At(1024), reinterpret_cast<uintptr_t>(host_)};
  CUdeviceptr sources[] = {At(512), reinterpret_cast<uintptr_t>(host_), At(2048)};
  size_t sizes[] = {10, 20, 30};
  const auto expected =
      ElementsAre(Writes(0, 10), Reads(512, 10), Writes(1024, 20), Reads(2048, 30));
  const cuMemcpyBatchAsync_params old = {targets, sources, sizes,   3,      nullptr,
                                         nullptr, 0,       nullptr, stream_};
  const cuMemcpyBatchAsync_v2_params v2 = {targets, sources, sizes, 3,
                                           nullptr, nullptr, 0,     stream_};
  const Submission s = Decode(CALL(cuMemcpyBatchAsync), old);
  EXPECT_EQ(s.stream, stream_);
  EXPECT_THAT(s.touches, expected);
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyBatchAsync_ptsz), old), expected);
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyBatchAsync_v2), v2), expected);
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyBatchAsync_v2_ptsz), v2), expected);
  ASSERT_THAT(s.host_copies, SizeIs(1));
  EXPECT_EQ(s.host_copies[0].source, host_);
}

TEST_F(PitchedTest, BatchesOfBoxes) {
  CUDA_MEMCPY3D_BATCH_OP ops[2] = {};
  ops[0].src.type = ops[0].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  ops[0].src.op.ptr.ptr = At(0);
  ops[0].dst.op.ptr.ptr = At(1 << 20);
  ops[0].dst.op.ptr.rowLength = 200;
  ops[0].dst.op.ptr.layerHeight = 10;
  ops[0].extent = {100, 10, 2};
  ops[1].src.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  ops[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  ops[1].dst.op.ptr.ptr = At(1 << 22);
  ops[1].extent = {100, 10, 2};
  const auto expected = ElementsAre(Writes(1 << 20, 19 * 200 + 100, /*linear=*/false),
                                    Reads(0, 2000), Writes(1 << 22, 0, /*linear=*/false));
  const cuMemcpy3DBatchAsync_params old = {2, ops, nullptr, 0, stream_};
  const cuMemcpy3DBatchAsync_v2_params v2 = {2, ops, 0, stream_};
  EXPECT_THAT(TouchesOf(CALL(cuMemcpy3DBatchAsync), old), expected);
  EXPECT_THAT(TouchesOf(CALL(cuMemcpy3DBatchAsync_v2), v2), expected);
  EXPECT_EQ(Decode(CALL(cuMemcpy3DBatchAsync_v2_ptsz), v2).stream, stream_);
}

TEST_F(PitchedTest, Decompression) {
  CUmemDecompressParams ops[2] = {};
  ops[0].src = PointerAt(0);
  ops[0].srcNumBytes = 100;
  ops[0].dst = PointerAt(4096);
  ops[0].dstNumBytes = 200;
  ops[0].dstActBytes = static_cast<cuuint32_t*>(PointerAt(8192));
  ops[1] = ops[0];
  ops[1].dstNumBytes = 0;
  EXPECT_THAT(TouchesOf(CALL(cuMemBatchDecompressAsync),
                        cuMemBatchDecompressAsync_params{ops, 2, 0, nullptr, stream_}),
              ElementsAre(Reads(0, 100), Writes(4096, 200), Writes(8192, 4), Reads(0, 100),
                          Writes(4096, 0, /*linear=*/false), Writes(8192, 4)));
}

TEST_F(PitchedTest, StreamValues) {
  const cuStreamWaitValue32_params wait = {stream_, At(4), 1, 0};
  const cuStreamWriteValue64_params write = {stream_, At(8), 1, 0};
  for (const uint32_t call : {CALL(cuStreamWaitValue32), CALL(cuStreamWaitValue32_v2),
                              CALL(cuStreamWaitValue32_v2_ptsz)}) {
    EXPECT_THAT(TouchesOf(call, wait), ElementsAre(Reads(4, 4)));
  }
  for (const uint32_t call : {CALL(cuStreamWriteValue64), CALL(cuStreamWriteValue64_ptsz),
                              CALL(cuStreamWriteValue64_v2)}) {
    const Submission s = Decode(call, write);
    EXPECT_EQ(s.kind, Kind::kCopy);
    EXPECT_EQ(s.stream, stream_);
    EXPECT_THAT(s.touches, ElementsAre(Writes(8, 8)));
  }
  CUstreamBatchMemOpParams ops[3] = {};
  ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  ops[0].writeValue.address = At(16);
  ops[1].operation = CU_STREAM_MEM_OP_BARRIER;
  ops[2].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
  ops[2].waitValue.address = At(24);
  const cuStreamBatchMemOp_v2_params batch = {stream_, 3, ops, 0};
  const Submission s = Decode(CALL(cuStreamBatchMemOp_v2), batch);
  EXPECT_THAT(s.touches, ElementsAre(Writes(16, 4), Reads(24, 8)));
  EXPECT_FALSE(s.incomplete);
  const int newer = 8;
  std::memcpy(&ops[1], &newer, sizeof(newer));
  EXPECT_TRUE(Decode(CALL(cuStreamBatchMemOp), batch).incomplete);
}

}  // namespace
}  // namespace vramspan
