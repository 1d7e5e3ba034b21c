// Access rights that do not end in a fault; faults_test.cc has those that do.
#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

using Access = Conformance;

unsigned long long Flags(CUdeviceptr at) {
  const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, World::Get().device()};
  unsigned long long flags = ~0ull;
  Must(World::Get().MemGetAccess(&flags, &device, at), "cuMemGetAccess");
  return flags;
}

TEST_F(Access, ReadOnlyChunkCanBeRead) {
  for (const Where where : {Where::kDevice, Where::kHostNuma}) {
    Chunks chunk({where});
    FillHash(chunk.at(0), kChunk, 1);
    chunk.span().Access(0, 1, CU_MEM_ACCESS_FLAGS_PROT_READ);
    EXPECT_EQ(Flags(chunk.at(0)), CU_MEM_ACCESS_FLAGS_PROT_READ) << where;
    EXPECT_TRUE(KernelSeesHash(chunk.at(0), kChunk, 1)) << where;
    EXPECT_TRUE(CopyHasHash(chunk.at(0), kChunk, 1)) << where;
  }
}

TEST_F(Access, CanBeTakenAwayAndGivenBack) {
  Chunks chunk({Where::kDevice});
  FillHash(chunk.at(0), kChunk, 2);
  chunk.span().Access(0, 1, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_EQ(Flags(chunk.at(0)), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  chunk.span().Access(0);
  EXPECT_EQ(Flags(chunk.at(0)), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_TRUE(KernelSeesHash(chunk.at(0), kChunk, 2));
  FillHash(chunk.at(0), kChunk, 3);
  EXPECT_TRUE(KernelSeesHash(chunk.at(0), kChunk, 3));
}

TEST_F(Access, ToDeviceMemoryIsForDevicesThatAreThere) {
  const Chunks chunk({Where::kDevice});
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ACCESS_FLAGS_PROT_READ};
  EXPECT_EQ(cu_.MemSetAccess(chunk.at(0), kChunk, &access, 1), CUDA_ERROR_NOT_SUPPORTED);
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 77};
  EXPECT_EQ(cu_.MemSetAccess(chunk.at(0), kChunk, &access, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Flags(chunk.at(0)), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

TEST_F(Access, IsToldOfPlainMemoryToo) {
  CUdeviceptr plain = 0;
  CU_OK(cu_.MemAlloc(&plain, kChunk));
  EXPECT_NE(Flags(plain), ~0ull);
  CU_OK(cu_.MemFree(plain));
}

}  // namespace
}  // namespace vramspan::conformance
