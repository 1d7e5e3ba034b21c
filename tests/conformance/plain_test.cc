// Memory of cuMemAlloc and of pools, which programs compare ours with.
#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

constexpr CUdeviceptr kUntouched = 0x7777;

class Plain : public Conformance {
 protected:
  template <typename T>
  T Ask(CUpointer_attribute attribute, CUdeviceptr at) {
    T answer{};
    CU_EXPECT_OK(world_.PointerGetAttribute(&answer, attribute, at));
    return answer;
  }
  CUdeviceptr BlockOf(CUdeviceptr p) {
    return Ask<CUdeviceptr>(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, p);
  }
  size_t BlockSizeOf(CUdeviceptr p) { return Ask<size_t>(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, p); }
  unsigned long long IdOf(CUdeviceptr p, CUpointer_attribute which) {
    return Ask<unsigned long long>(which, p);
  }
};

TEST_F(Plain, SmallAllocationsShareABlockAndItsId) {
  // As many as surely do not each have one of their own.
  CUdeviceptr small[64] = {};
  for (CUdeviceptr& s : small) CU_OK(cu_.MemAlloc(&s, 1000));
  bool shared = false;
  for (const CUdeviceptr s : small) {
    EXPECT_EQ(BlockSizeOf(s), kChunk);
    EXPECT_LE(BlockOf(s), s);
    EXPECT_LE(s + 1000, BlockOf(s) + kChunk);
    if (s == small[0]) continue;
    const bool same = BlockOf(s) == BlockOf(small[0]);
    EXPECT_EQ(IdOf(s, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID) ==
                  IdOf(small[0], CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID),
              same);
    EXPECT_NE(IdOf(s, CU_POINTER_ATTRIBUTE_BUFFER_ID),
              IdOf(small[0], CU_POINTER_ATTRIBUTE_BUFFER_ID));
    shared = shared || same;
  }
  EXPECT_TRUE(shared);
  for (const CUdeviceptr s : small) CU_OK(cu_.MemFree(s));
}

TEST_F(Plain, LargeAllocationsHaveBlocksOfTheirOwn) {
  CUdeviceptr large = 0;
  CU_OK(cu_.MemAlloc(&large, 3 * kChunk + 1));
  EXPECT_EQ(BlockOf(large + 3 * kChunk), large);
  EXPECT_EQ(BlockSizeOf(large), 4 * kChunk);
  CU_OK(cu_.MemFree(large));
}

TEST_F(Plain, AllocationsThatFailWriteAllTheSame) {
  CUdeviceptr memory = kUntouched;
  EXPECT_EQ(cu_.MemAlloc(&memory, size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(memory, kUntouched);
}

TEST_F(Plain, UnknownAddressesHaveNoRange) {
  int local = 0;
  CUdeviceptr base = kUntouched;
  size_t bytes = 7;
  EXPECT_EQ(world_.MemGetAddressRange(&base, &bytes, reinterpret_cast<CUdeviceptr>(&local)),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(base, 0u);
  EXPECT_EQ(bytes, 0u);
}

TEST_F(Plain, ZeroBytesOfAPoolAreGranted) {
  CUdeviceptr memory = kUntouched;
  CU_OK(world_.MemAllocAsync(&memory, 0, nullptr));
  EXPECT_NE(memory, kUntouched);
}

}  // namespace
}  // namespace vramspan::conformance
