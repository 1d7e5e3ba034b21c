// Granularity, what may be mapped where, and what one call may span.
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

using Mapping = Conformance;

TEST_F(Mapping, GranularityIsTwoMiBEverywhere) {
  for (const Where where : {Where::kDevice, Where::kHostNuma, Where::kHost}) {
    for (const auto option :
         {CU_MEM_ALLOC_GRANULARITY_MINIMUM, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED}) {
      const CUmemAllocationProp properties = Properties(where);
      size_t bytes = 0;
      CU_OK(cu_.MemGetAllocationGranularity(&bytes, &properties, option));
      EXPECT_EQ(bytes, 2 * kMiB) << where;
    }
  }
}

TEST_F(Mapping, HandlesOfEveryKindWork) {
  for (const Where where : {Where::kDevice, Where::kHostNuma, Where::kHost}) {
    const Chunks chunk({where});
    FillHash(chunk.at(0), kChunk, 1);
    EXPECT_TRUE(KernelSeesHash(chunk.at(0), kChunk, 1)) << where;
    EXPECT_TRUE(CopyHasHash(chunk.at(0), kChunk, 1)) << where;
  }
}

TEST_F(Mapping, PartOfAHandleIsNotSupported) {
  for (const Where where : {Where::kDevice, Where::kHostNuma}) {
    const Handle handle(where, 4 * kChunk);
    const Span span(4);
    EXPECT_EQ(cu_.MemMap(span.at(0), kChunk, 0, handle.get(), 0), CUDA_ERROR_NOT_SUPPORTED)
        << where;
  }
}

TEST_F(Mapping, MoreThanAHandleIsNotSupported) {
  for (const Where where : {Where::kDevice, Where::kHostNuma}) {
    const Handle handle(where, 2 * kChunk);
    const Span span(4);
    EXPECT_EQ(cu_.MemMap(span.at(0), 4 * kChunk, 0, handle.get(), 0), CUDA_ERROR_NOT_SUPPORTED)
        << where;
  }
}

TEST_F(Mapping, NonZeroOffsetIsNotSupported) {
  for (const Where where : {Where::kDevice, Where::kHostNuma}) {
    const Handle handle(where, 4 * kChunk);
    const Span span(4);
    EXPECT_EQ(cu_.MemMap(span.at(1), kChunk, kChunk, handle.get(), 0), CUDA_ERROR_NOT_SUPPORTED)
        << where;
    EXPECT_EQ(cu_.MemMap(span.at(0), 2 * kChunk, 2 * kChunk, handle.get(), 0),
              CUDA_ERROR_NOT_SUPPORTED)
        << where;
  }
}

TEST_F(Mapping, OneSetAccessSpansDeviceAndHostHandles) {
  std::vector<Where> where;
  for (int i = 0; i < 8; ++i) where.push_back(i % 2 == 0 ? Where::kDevice : Where::kHostNuma);
  const Chunks chunks(where);  // one call for all of them
  FillHash(chunks.at(0), chunks.bytes(), 2);
  EXPECT_TRUE(KernelSeesHash(chunks.at(0), chunks.bytes(), 2));
  EXPECT_TRUE(CopyHasHash(chunks.at(0), chunks.bytes(), 2));
}

TEST_F(Mapping, OneUnmapSpansManyWholeMappings) {
  Chunks chunks({Where::kDevice, Where::kHostNuma, Where::kDevice, Where::kHostNuma});
  FillHash(chunks.at(0), chunks.bytes(), 3);
  CU_OK(cu_.MemUnmap(chunks.at(0), chunks.bytes()));
  for (size_t slot = 0; slot < 4; ++slot) chunks.span().MapOnly(slot, chunks.handle(slot));
  chunks.span().Access(0, 4);
  EXPECT_TRUE(CopyHasHash(chunks.at(0), chunks.bytes(), 3));
}

TEST_F(Mapping, UnmapMayCoverWhatIsNotMapped) {
  const Handle handle(Where::kDevice);
  Span span(4);
  CU_OK(cu_.MemUnmap(span.at(0), 4 * kChunk));
  span.Map(1, handle);
  CU_OK(cu_.MemUnmap(span.at(0), 4 * kChunk));
  unsigned long long flags = 0;
  const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, world_.device()};
  EXPECT_EQ(world_.MemGetAccess(&flags, &device, span.at(1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu_.MemUnmap(span.at(0), 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Mapping, UnmapOfPartOfAMappingIsRefused) {
  for (const Where where : {Where::kDevice, Where::kHostNuma}) {
    const Chunks chunk({where}, 2 * kChunk);
    FillHash(chunk.at(0), chunk.bytes(), 4);
    EXPECT_NE(cu_.MemUnmap(chunk.at(0), kChunk), CUDA_SUCCESS) << where;
    EXPECT_NE(cu_.MemUnmap(chunk.at(0) + kChunk, kChunk), CUDA_SUCCESS) << where;
    EXPECT_TRUE(CopyHasHash(chunk.at(0), chunk.bytes(), 4)) << where;
  }
}

TEST_F(Mapping, AHandleMayBeMappedAtSeveralAddresses) {
  for (const Where where : {Where::kDevice, Where::kHostNuma}) {
    Chunks chunk({where});
    Span alias(2);
    alias.Map(0, chunk.handle(0));
    alias.Map(1, chunk.handle(0));
    FillHash(chunk.at(0), kChunk, 5);
    EXPECT_TRUE(KernelSeesHash(alias.at(0), kChunk, 5)) << where;
    FillHash(alias.at(1), kChunk, 6);
    EXPECT_TRUE(KernelSeesHash(chunk.at(0), kChunk, 6)) << where;
    chunk.span().Unmap(0);
    EXPECT_TRUE(KernelSeesHash(alias.at(0), kChunk, 6)) << where;
  }
}

TEST_F(Mapping, CopyThroughAStagingAliasThenFlip) {
  Chunks chunks({Where::kDevice, Where::kDevice, Where::kDevice});
  FillHash(chunks.at(0), chunks.bytes(), 7);
  const Handle host(Where::kHostNuma);
  Move(chunks.span(), 1, host);
  EXPECT_TRUE(KernelSeesHash(chunks.at(0), chunks.bytes(), 7));
  // It is the host chunk that is there.
  Span alias(1);
  alias.Map(0, host);
  CU_OK(world_.MemsetD8(alias.at(0), 0x5a, kChunk));
  unsigned char byte = 0;
  CU_OK(world_.MemcpyDtoH(&byte, chunks.at(1) + kChunk - 1, 1));
  EXPECT_EQ(byte, 0x5a);
}

TEST_F(Mapping, ReleasedHandleThatIsMappedKeepsItsMemory) {
  for (const Where where : {Where::kDevice, Where::kHostNuma}) {
    Span span(1);
    Handle handle(where);
    span.Map(0, handle);
    FillHash(span.at(0), kChunk, 8);
    handle.Release();
    const Chunks others({where, where, where, where});
    FillHash(others.at(0), others.bytes(), 9);
    EXPECT_TRUE(KernelSeesHash(span.at(0), kChunk, 8)) << where;
  }
}

TEST_F(Mapping, HostChunkWithHostAccessIsTheProcessorsToo) {
  const Chunks chunk({Where::kHostNuma});
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_HOST_NUMA, world_.host_numa_id()},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CU_OK(cu_.MemSetAccess(chunk.at(0), kChunk, &access, 1));
  const std::vector<unsigned long long> words = HashWords(kChunk, 10);
  std::copy(words.begin(), words.end(), reinterpret_cast<unsigned long long*>(chunk.at(0)));
  EXPECT_TRUE(KernelSeesHash(chunk.at(0), kChunk, 10));
}

TEST_F(Mapping, ThreadsMayMakeVmmCallsAtOnce) {
  constexpr int kThreads = 4;
  std::vector<std::unique_ptr<Chunks>> chunks;
  for (int i = 0; i < kThreads; ++i) {
    chunks.push_back(
        std::make_unique<Chunks>(std::vector<Where>{Where::kDevice, Where::kHostNuma}));
    FillHash(chunks[i]->at(0), kChunk, 20 + i);
    FillHash(chunks[i]->at(1), kChunk, 30 + i);
  }
  Gate gate;
  std::vector<std::unique_ptr<Background>> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::make_unique<Background>(gate, world_.primary(), [&chunk = *chunks[i]] {
      for (int round = 0; round < 51; ++round) {  // odd: they end up exchanged
        chunk.span().Unmap(0, 2);
        chunk.span().Map(0, chunk.handle(round % 2 == 0 ? 1 : 0));
        chunk.span().Map(1, chunk.handle(round % 2 == 0 ? 0 : 1));
      }
    }));
  }
  for (auto& thread : threads) thread->Finish();
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_TRUE(KernelSeesHash(chunks[i]->at(0), kChunk, 30 + i));
    EXPECT_TRUE(KernelSeesHash(chunks[i]->at(1), kChunk, 20 + i));
  }
}

}  // namespace
}  // namespace vramspan::conformance
