#include "runtime/base/units.h"

#include <absl/hash/hash.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace vramspan {
namespace {

// What must not compile.
template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};
static_assert(!Addable<DevicePtr, DevicePtr>);
static_assert(!Addable<DevicePtr, uint64_t>);
static_assert(!Addable<Bytes, uint64_t>);
static_assert(!std::is_convertible_v<uint64_t, Bytes>);
static_assert(!std::is_convertible_v<uint64_t, DevicePtr>);
static_assert(!std::is_convertible_v<uint32_t, ChunkIndex>);
static_assert(!std::is_convertible_v<ChunkIndex, bool>);
static_assert(std::is_trivially_copyable_v<Bytes> && std::is_trivially_copyable_v<DevicePtr>);

TEST(Units, BytesAddMultiplyAndDivide) {
  EXPECT_EQ(KiB(1), Bytes(1024));
  EXPECT_EQ(MiB(3), KiB(3 * 1024));
  EXPECT_EQ(GiB(1), MiB(1024));
  EXPECT_EQ(MiB(2) + MiB(4) - MiB(1), MiB(5));
  EXPECT_EQ(MiB(2) * 8, MiB(16));
  EXPECT_EQ(8 * MiB(2), MiB(16));
  EXPECT_EQ(MiB(17) / MiB(2), 8u);
  Bytes sum = MiB(1);
  sum += MiB(2);
  sum -= KiB(1024);
  EXPECT_EQ(sum, MiB(2));
  EXPECT_LT(MiB(1), MiB(2));
}

TEST(Units, RoundUpGoesToTheNextMultiple) {
  EXPECT_EQ(RoundUp(Bytes(0), MiB(2)), Bytes(0));
  EXPECT_EQ(RoundUp(Bytes(1), MiB(2)), MiB(2));
  EXPECT_EQ(RoundUp(MiB(2), MiB(2)), MiB(2));
  EXPECT_EQ(RoundUp(MiB(2) + Bytes(1), MiB(2)), MiB(4));
}

TEST(Units, PointersMoveByBytes) {
  const DevicePtr p(0x1000);
  EXPECT_EQ(p + KiB(4), DevicePtr(0x2000));
  EXPECT_EQ(p - Bytes(16), DevicePtr(0xff0));
  EXPECT_EQ((p + KiB(4)) - p, KiB(4));
}

TEST(Units, ChunkSizesAreTwoTo64MiB) {
  EXPECT_EQ(ChunkBytes(kMinChunkLog2), MiB(2));
  EXPECT_EQ(ChunkBytes(kMaxChunkLog2), MiB(64));
  EXPECT_EQ(kGranularity, MiB(2));
  EXPECT_EQ(kChunkSizeCount, 6);
}

TEST(Units, IndexZeroIsNoChunk) {
  EXPECT_FALSE(bool(ChunkIndex()));
  EXPECT_TRUE(bool(ChunkIndex(1)));
  EXPECT_EQ(absl::Hash<ChunkIndex>()(ChunkIndex(7)), absl::Hash<ChunkIndex>()(ChunkIndex(7)));
  EXPECT_EQ(ChunkIndexHash()(ChunkIndex(7)), 7u);
}

}  // namespace
}  // namespace vramspan
