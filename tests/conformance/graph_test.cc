// A graph keeps the addresses that it was made with, not the memory that was behind them.
#include <algorithm>
#include <vector>

#include "tests/conformance/fixture.h"

namespace vramspan::conformance {
namespace {

using Word = unsigned long long;
constexpr size_t kWords = kChunk / sizeof(Word);

// Kernel on chunks 0 and 1, copy of 1 to 2, fill of 3.
class Graphs : public Conformance {
 protected:
  Graphs() : chunks_({Where::kDevice, Where::kDevice, Where::kDevice, Where::kDevice}) {}

  void SetUp() override {
    for (int i = 0; i < 4; ++i) spares_.emplace_back(Where::kHostNuma);
    CU_OK(Launch(world_.Kernel("fill"), 8, 64, stream_.get(), chunks_.at(0), 2 * kWords, kFirst));
    CU_OK(cu_.StreamSynchronize(stream_.get()));

    CU_OK(world_.StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_RELAXED));
    CU_EXPECT_OK(Launch(world_.Kernel("add_constant"), 8, 64, stream_.get(), chunks_.at(0),
                        2 * kWords, Word{1}));
    CU_EXPECT_OK(cu_.MemcpyDtoDAsync(chunks_.at(2), chunks_.at(1), kChunk, stream_.get()));
    CU_EXPECT_OK(cu_.MemsetD8Async(chunks_.at(3), 7, kChunk, stream_.get()));
    CU_OK(world_.StreamEndCapture(stream_.get(), &graph_));
    CU_OK(world_.GraphInstantiate(&exec_, graph_, 0));
  }

  void TearDown() override {
    if (exec_ != nullptr) {
      CU_EXPECT_OK(world_.GraphExecDestroy(exec_));
    }
    if (graph_ != nullptr) {
      CU_EXPECT_OK(world_.GraphDestroy(graph_));
    }
    Conformance::TearDown();
  }

  void LaunchAndCheck() {
    CU_OK(cu_.MemsetD8Async(chunks_.at(2), 0, 2 * kChunk, stream_.get()));
    CU_OK(world_.GraphLaunch(exec_, stream_.get()));
    CU_OK(cu_.StreamSynchronize(stream_.get()));
    ++launches_;
    std::vector<Word> words(4 * kWords);
    CU_OK(world_.MemcpyDtoH(words.data(), chunks_.at(0), chunks_.bytes()));
    std::vector<Word> expected(4 * kWords, kFirst + launches_);
    std::fill(expected.begin() + 3 * kWords, expected.end(), Word{0x0707070707070707});
    EXPECT_EQ(words, expected) << "launch " << launches_;
  }

  static constexpr Word kFirst = 1000;

  Chunks chunks_;
  std::vector<Handle> spares_;
  const Stream stream_;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  Word launches_ = 0;
};

TEST_F(Graphs, KeepWorkingAfterTheirChunksAreRemapped) {
  LaunchAndCheck();
  for (size_t slot = 0; slot < 4; ++slot) {
    Move(chunks_.span(), slot, spares_[slot]);
    LaunchAndCheck();
  }
  for (size_t slot = 0; slot < 4; ++slot) {
    Move(chunks_.span(), slot, chunks_.handle(slot));
    LaunchAndCheck();
  }
}

}  // namespace
}  // namespace vramspan::conformance
