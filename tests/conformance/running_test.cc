// VMM calls beside running kernels. The one that kills the kernel is in faults_test.cc.
#include <vector>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;
constexpr unsigned kBlocks = 8;
constexpr unsigned kThreads = 64;
constexpr unsigned kAll = kBlocks * kThreads;

class RunningKernel : public Conformance {
 protected:
  RunningKernel() : rounds_(kAll * sizeof(Word)) {
    for (unsigned i = 0; i < kAll; ++i) Rounds(i) = 0;
  }

  volatile Word& Rounds(unsigned thread) { return rounds_.as<volatile Word>()[thread]; }

  // Starts a kernel that adds to the chunk again and again until the gate opens.
  void Start(CUdeviceptr chunk, const Gate& gate) {
    CU_OK(world_.MemsetD8(chunk, 0, kChunk));
    CU_OK(cu_.CtxSynchronize());
    CU_OK(Launch(world_.Kernel("add_until"), kBlocks, kThreads, stream_.get(), chunk,
                 kChunk / sizeof(Word), gate.address(), 1u, rounds_.device()));
    ASSERT_TRUE(Eventually([&] { return Rounds(0) > 0; }));
  }

  // Lets it end, and expects every word to have been added to as often as its thread says.
  void Finish(CUdeviceptr chunk, Gate& gate) {
    EXPECT_FALSE(stream_.Done());
    gate.OpenAll();
    CU_OK(cu_.StreamSynchronize(stream_.get()));
    std::vector<Word> words(kChunk / sizeof(Word));
    CU_OK(world_.MemcpyDtoH(words.data(), chunk, kChunk));
    size_t wrong = 0;
    for (size_t i = 0; i < words.size(); ++i) wrong += words[i] != Rounds(i % kAll) ? 1 : 0;
    EXPECT_EQ(wrong, 0u);
  }

  const Pinned rounds_;
  const Stream stream_;
};

TEST_F(RunningKernel, IsNotWaitedForByVmmCalls) {
  const Chunks chunk({Where::kDevice});
  Gate gate;
  Start(chunk.at(0), gate);
  Background calls(gate, world_.primary(), [] {
    for (const Where where : {Where::kDevice, Where::kHostNuma}) {
      Handle handle(where);
      Span span(1);
      span.Map(0, handle);
      span.Unmap(0);
      handle.Release();
    }
  });
  ASSERT_TRUE(Eventually([&] { return calls.done(); }));
  calls.Finish();
  Finish(chunk.at(0), gate);
}

TEST_F(RunningKernel, IsNotHurtByRemapsOfItsNeighbours) {
  Chunks chunks({Where::kDevice, Where::kDevice, Where::kDevice});
  const Handle before(Where::kHostNuma);
  const Handle after(Where::kHostNuma);
  FillHash(chunks.at(0), kChunk, 1);
  FillHash(chunks.at(2), kChunk, 2);
  Gate gate;
  Start(chunks.at(1), gate);
  Background remaps(gate, world_.primary(), [&] {
    for (int round = 0; round < 200; ++round) {
      const bool away = round % 2 == 0;
      chunks.span().Flip(0, away ? before : chunks.handle(0));
      chunks.span().Flip(2, away ? after : chunks.handle(2));
    }
  });
  ASSERT_TRUE(Eventually([&] { return remaps.done(); }));
  remaps.Finish();
  Finish(chunks.at(1), gate);
  EXPECT_TRUE(KernelSeesHash(chunks.at(0), kChunk, 1));
  EXPECT_TRUE(KernelSeesHash(chunks.at(2), kChunk, 2));
}

}  // namespace
}  // namespace vramspan::conformance
