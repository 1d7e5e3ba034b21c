// Buffers that one kernel fills piece by piece and another takes as a whole, as gradients are that
// are summed over devices: where a piece begins is no end for who takes all of it.
#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

class TracedPieces : public TracedTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(Start());
    CUdeviceptr p = 0;
    EXPECT_SPAN(vramspanMemAlloc(runtime_->get(), &p, 2 * kChunk));
    whole_ = {p, 2 * kChunkWords, 0, 0};
    for (const size_t i : kPieces) {
      buffers_.push_back({p, kChunkWords, static_cast<Word>(i), 0});
      p += kChunk;
    }
  }
  void Fill() {
    for (const size_t i : kPieces) {
      buffers_[i].add = 0;
      EXPECT_CU(world_.LaunchFill(buffers_[i], stream_));
    }
  }
  void AddToWhole(CUstream stream) {
    EXPECT_CU(world_.LaunchAdd(whole_, 3, stream));
    Added(kPieces, 3);
  }

  const Indices kPieces = {2 * kBudget, 2 * kBudget + 1};
  Buffer whole_;
};
INSTANTIATE_TRACED(TracedPieces);

TEST_P(TracedPieces, EndNothingForWhoTakesAll) {
  for (int lap = 0; lap < 10; ++lap) {
    Fill();
    AddToWhole(stream_);
    Wait(stream_);
  }
  for (const size_t i : kPieces) {
    EXPECT_EQ(world_.Wrong(buffers_[i]), "");
    ExpectStay({i}, [&](CUstream stream) { AddToWhole(stream); });
  }
}

}  // namespace
}  // namespace vramspan_test
