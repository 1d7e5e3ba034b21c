// Chunks side by side are remapped with one call for several (mover_together.cc).
#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

constexpr size_t kChunksOfABuffer = 16;
constexpr unsigned kDelayUs = 10'000;
constexpr uint32_t kReads = VRAMSPAN_READ | VRAMSPAN_KERNELS_ONLY;

class TogetherTest : public MoverTest {
 protected:
  TogetherTest() : stream_(world_.NewStream()) {
    RuntimeOptions options;
    options.device_memory = "40MiB";  // One buffer, and a little.
    options.deadline_us = 5'000'000;
    runtime_ = std::make_unique<TestRuntime>(world_, options);
    buffers_ = runtime_->Filled(2, kChunksOfABuffer * kChunk, stream_);
    Rounds(4);
    // A call takes so long that several copies are done by then.
    EXPECT_EQ(world_.set_delay("cuMemSetAccess", kDelayUs), 0);
    EXPECT_EQ(world_.set_delay("cuMemUnmap", kDelayUs), 0);
  }
  ~TogetherTest() override {
    EXPECT_EQ(world_.set_delay("cuMemSetAccess", 0), 0);
    EXPECT_EQ(world_.set_delay("cuMemUnmap", 0), 0);
    runtime_->Synchronize();
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }

  // By turns, one after the other: each has to come, and the other to go, which needs no copy.
  void Rounds(int count) {
    for (int round = 0; round < count; ++round) {
      for (const Buffer& b : buffers_) {
        runtime_->Begin(stream_, {b.range(kReads)});
        EXPECT_CU(world_.LaunchAdd(b, 0, stream_));
        runtime_->End(stream_);
      }
    }
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
  }

  const Watchdog watchdog_{"a test of remaps of several chunks", 60};
  const CUstream stream_;
  std::unique_ptr<TestRuntime> runtime_;
  std::vector<Buffer> buffers_;
};

TEST_F(TogetherTest, TakesOneCallForSeveral) {
  const vramspanStatistics before = runtime_->stats();
  [[maybe_unused]] const long long accesses = world_.call_count("cuMemSetAccess");
  const long long unmaps = world_.call_count("cuMemUnmap");
  Rounds(3);
  const vramspanStatistics after = runtime_->stats();
  const auto fetches = static_cast<long long>(after.fetches - before.fetches);
  const auto evictions = static_cast<long long>(after.evictions - before.evictions);
  EXPECT_GE(fetches, 4 * 12);
  EXPECT_GE(evictions, 4 * 12);
#ifndef __SANITIZE_THREAD__  // With which a copy takes longer than a call.
  EXPECT_LT((world_.call_count("cuMemSetAccess") - accesses) * 3, fetches * 2);
#endif
  EXPECT_LT((world_.call_count("cuMemUnmap") - unmaps) * 3, evictions * 2);
  EXPECT_EQ(after.moves_failed, before.moves_failed);
}

// What fails for all is done one by one. Only where it was one alone is a move given up, and told.
TEST_F(TogetherTest, WhatFailsTogetherIsDoneOneByOne) {
  for (const char* call : {"cuMemUnmap", "cuMemSetAccess", "cuMemMap"}) {
    const vramspanStatistics before = runtime_->stats();
    ASSERT_EQ(world_.fail(call, 1, 1, CUDA_ERROR_UNKNOWN), 0);
    Rounds(2);
    EXPECT_EQ(world_.failed_calls(), 1u) << call;
    const vramspanStatistics after = runtime_->stats();
    EXPECT_GT(after.fetches, before.fetches) << call;
    EXPECT_LE(after.moves_failed, before.moves_failed + 1) << call;
    world_.reset();
    EXPECT_EQ(world_.set_delay("cuMemSetAccess", kDelayUs), 0);
    EXPECT_EQ(world_.set_delay("cuMemUnmap", kDelayUs), 0);
    const bool told = vramspanSynchronize(runtime_->get()) != CUDA_SUCCESS;
    EXPECT_EQ(told, after.moves_failed != before.moves_failed) << call;
  }
}

}  // namespace
}  // namespace vramspan_test
