// Linear copies and fills: exact ranges.

#include "tests/observe/decoder_fixture.h"

namespace vramspan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CopyTest : public DecoderTest {
 protected:
  // One copy from host memory to an address, as it should be told.
  static void ExpectHostCopy(const Submission& s, const void* source, uint64_t target,
                             uint64_t size) {
    ASSERT_THAT(s.host_copies, SizeIs(1));
    EXPECT_EQ(s.host_copies[0].source, source);
    EXPECT_EQ(s.host_copies[0].target, DevicePtr(target));
    EXPECT_EQ(s.host_copies[0].size, Bytes(size));
  }

  char host_[256] = {};
};

TEST_F(CopyTest, BetweenHostAndDevice) {
  for (const uint32_t call : {CALL(cuMemcpyHtoD_v2), CALL(cuMemcpyHtoD_v2_ptds)}) {
    const Submission s = Decode(call, cuMemcpyHtoD_v2_params{At(512), host_, 200});
    EXPECT_EQ(s.kind, Kind::kCopy);
    EXPECT_EQ(s.code, nullptr);
    EXPECT_EQ(s.stream, call == CALL(cuMemcpyHtoD_v2) ? nullptr : CU_STREAM_PER_THREAD);
    EXPECT_THAT(s.touches, ElementsAre(Writes(512, 200)));
    ExpectHostCopy(s, host_, At(512), 200);
  }
  const Submission async =
      Decode(CALL(cuMemcpyHtoDAsync_v2), cuMemcpyHtoDAsync_v2_params{At(512), host_, 200, stream_});
  EXPECT_EQ(async.stream, stream_);
  EXPECT_THAT(async.touches, ElementsAre(Writes(512, 200)));
  ExpectHostCopy(async, host_, At(512), 200);

  for (const uint32_t call : {CALL(cuMemcpyDtoHAsync_v2), CALL(cuMemcpyDtoHAsync_v2_ptsz)}) {
    const Submission s = Decode(call, cuMemcpyDtoHAsync_v2_params{host_, At(3), 9, stream_});
    EXPECT_THAT(s.touches, ElementsAre(Reads(3, 9)));
    EXPECT_THAT(s.host_copies, IsEmpty());
  }
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyDtoH_v2), cuMemcpyDtoH_v2_params{host_, At(3), 9}),
              ElementsAre(Reads(3, 9)));
}

TEST_F(CopyTest, BetweenDevicePointers) {
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyDtoD_v2), cuMemcpyDtoD_v2_params{At(0), At(4096), 64}),
              ElementsAre(Writes(0, 64), Reads(4096, 64)));
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyDtoDAsync_v2_ptsz),
                        cuMemcpyDtoDAsync_v2_params{At(0), At(4096), 64, stream_}),
              ElementsAre(Writes(0, 64), Reads(4096, 64)));
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyPeerAsync),
                        cuMemcpyPeerAsync_params{At(0), nullptr, At(4096), nullptr, 64, stream_}),
              ElementsAre(Writes(0, 64), Reads(4096, 64)));
  // Only one side is ours.
  const Submission s = Decode(CALL(cuMemcpyDtoD_v2), cuMemcpyDtoD_v2_params{1 << 20, At(16), 64});
  EXPECT_THAT(s.touches, ElementsAre(Reads(16, 64)));
  EXPECT_THAT(s.host_copies, IsEmpty());
}

TEST_F(CopyTest, BetweenAnyPointers) {
  const auto host = reinterpret_cast<uintptr_t>(host_);
  const Submission in =
      Decode(CALL(cuMemcpyAsync), cuMemcpyAsync_params{At(64), host, 100, stream_});
  EXPECT_THAT(in.touches, ElementsAre(Writes(64, 100)));
  ExpectHostCopy(in, host_, At(64), 100);
  const Submission out = Decode(CALL(cuMemcpy), cuMemcpy_params{host, At(64), 100});
  EXPECT_THAT(out.touches, ElementsAre(Reads(64, 100)));
  const Submission inside = Decode(CALL(cuMemcpy_ptds), cuMemcpy_params{At(0), At(64), 64});
  EXPECT_THAT(inside.touches, ElementsAre(Writes(0, 64), Reads(64, 64)));
  EXPECT_THAT(inside.host_copies, IsEmpty());
  // The driver takes a device pointer as the host's, too.
  const Submission disguised =
      Decode(CALL(cuMemcpyHtoD_v2), cuMemcpyHtoD_v2_params{At(0), PointerAt(64), 64});
  EXPECT_THAT(disguised.touches, ElementsAre(Writes(0, 64), Reads(64, 64)));
  EXPECT_THAT(disguised.host_copies, IsEmpty());
}

TEST_F(CopyTest, LargeCopiesHoldNoPointersWorthReading) {
  const Submission most =
      Decode(CALL(cuMemcpyHtoD_v2), cuMemcpyHtoD_v2_params{At(0), host_, 64 << 10});
  EXPECT_THAT(most.host_copies, SizeIs(1));
  const Submission more =
      Decode(CALL(cuMemcpyHtoD_v2), cuMemcpyHtoD_v2_params{At(0), host_, (64 << 10) + 1});
  EXPECT_THAT(more.host_copies, IsEmpty());
  EXPECT_THAT(more.touches, SizeIs(1));
  // But they say where an array lies.
  ASSERT_THAT(more.uploads, SizeIs(1));
  EXPECT_EQ(more.uploads[0].target, DevicePtr(At(0)));
  EXPECT_EQ(more.uploads[0].size, Bytes((64 << 10) + 1));
  EXPECT_THAT(Decode(CALL(cuMemcpyHtoD_v2), cuMemcpyHtoD_v2_params{At(0), host_, 0}).touches,
              IsEmpty());
}

TEST_F(CopyTest, NeitherSmallCopiesNorThoseOnTheDeviceAreUploads) {
  const auto uploads = [&](uint32_t call, auto params) {
    return Decode(call, params).uploads.size();
  };
  EXPECT_EQ(uploads(CALL(cuMemcpyHtoD_v2), cuMemcpyHtoD_v2_params{At(0), host_, 4096}), 1u);
  EXPECT_EQ(uploads(CALL(cuMemcpyHtoD_v2), cuMemcpyHtoD_v2_params{At(0), host_, 4095}), 0u);
  EXPECT_EQ(uploads(CALL(cuMemcpyDtoD_v2), cuMemcpyDtoD_v2_params{At(0), At(8192), 8192}), 0u);
  EXPECT_EQ(uploads(CALL(cuMemcpyDtoH_v2), cuMemcpyDtoH_v2_params{host_, At(0), 8192}), 0u);
}

TEST_F(CopyTest, RangesAreClippedToTheArena) {
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD8_v2), cuMemsetD8_v2_params{At(arena_size_ - 8), 0, 64}),
              ElementsAre(Writes(arena_size_ - 8, 8)));
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD8_v2), cuMemsetD8_v2_params{arena_ - 8, 0, 64}),
              ElementsAre(Writes(0, 56)));
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD8_v2), cuMemsetD8_v2_params{At(8), 0, ~size_t{0}}),
              ElementsAre(Writes(8, arena_size_ - 8)));
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD8_v2), cuMemsetD8_v2_params{arena_ - 64, 0, 64}), IsEmpty());
}

TEST_F(CopyTest, Arrays) {
  const CUarray array = nullptr;
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyDtoA_v2), cuMemcpyDtoA_v2_params{array, 5, At(8), 16}),
              ElementsAre(Reads(8, 16)));
  EXPECT_THAT(TouchesOf(CALL(cuMemcpyAtoD_v2_ptds), cuMemcpyAtoD_v2_params{At(8), array, 5, 16}),
              ElementsAre(Writes(8, 16)));
  const Submission in =
      Decode(CALL(cuMemcpyHtoAAsync_v2), cuMemcpyHtoAAsync_v2_params{array, 0, host_, 16, stream_});
  EXPECT_EQ(in.kind, Kind::kCopy);
  EXPECT_EQ(in.stream, stream_);
  EXPECT_THAT(in.touches, IsEmpty());
  EXPECT_THAT(in.host_copies, IsEmpty());
}

TEST_F(CopyTest, Fills) {
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD16_v2_ptds), cuMemsetD16_v2_params{At(8), 1, 100}),
              ElementsAre(Writes(8, 200)));
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD32Async), cuMemsetD32Async_params{At(8), 1, 100, stream_}),
              ElementsAre(Writes(8, 400)));
  const Submission s =
      Decode(CALL(cuMemsetD8Async_ptsz), cuMemsetD8Async_params{At(8), 1, 100, nullptr});
  EXPECT_EQ(s.kind, Kind::kCopy);
  EXPECT_EQ(s.stream, CU_STREAM_PER_THREAD);
  EXPECT_THAT(s.touches, ElementsAre(Writes(8, 100)));
}

TEST_F(CopyTest, FillsOfRows) {
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD2D32_v2), cuMemsetD2D32_v2_params{At(8), 512, 1, 100, 3}),
              ElementsAre(Writes(8, 2 * 512 + 400, /*linear=*/false)));
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD2D16Async),
                        cuMemsetD2D16Async_params{At(8), 200, 1, 100, 3, stream_}),
              ElementsAre(Writes(8, 600)));
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD2D8_v2), cuMemsetD2D8_v2_params{At(8), 512, 1, 100, 1}),
              ElementsAre(Writes(8, 100)));
  EXPECT_THAT(TouchesOf(CALL(cuMemsetD2D8_v2), cuMemsetD2D8_v2_params{At(8), 512, 1, 100, 0}),
              IsEmpty());
}

}  // namespace
}  // namespace vramspan
