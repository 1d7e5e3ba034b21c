// What a program that repeats itself is expected to need comes, though it has not launched it yet.
#include <memory>
#include <vector>

#include "tests/mover/traced_fixture.h"

namespace vramspan_test {
namespace {

class ExpectedTest : public MoverTest {
 protected:
  ExpectedTest() : stream_(world_.NewStream()) {
    RuntimeOptions options;
    options.deadline_us = 30'000'000;
    options.tracer = "cupti";
    options.overlap = "safe";
    runtime_ = std::make_unique<TestRuntime>(world_, options);
    buffers_ = runtime_->Filled(2 * kBudget, kChunk, stream_);
    for (int lap = 0; lap < 4; ++lap) {
      for (size_t i = 0; i < buffers_.size(); ++i) Use(i);
    }
  }
  ~ExpectedTest() override {
    runtime_->Synchronize();
    for (const Buffer& b : buffers_) EXPECT_EQ(world_.Wrong(b), "");
    EXPECT_SPAN(runtime_->Destroy());
    EXPECT_CU(world_.api().StreamDestroy(stream_));
  }

  void Use(size_t i) {
    runtime_->Begin(stream_, {buffers_[i].range(VRAMSPAN_READ)});
    runtime_->End(stream_);
    EXPECT_CU(world_.api().StreamSynchronize(stream_));
  }
  bool IsThere(size_t i) const { return runtime_->OnDevice(buffers_[i]) == kChunk; }
  // As many as there is room for.
  void ExpectNext(size_t first) const {
    for (size_t i = first; i < first + kBudget; ++i) {
      EXPECT_TRUE(Eventually([&] { return IsThere(i); })) << i;
    }
  }

  const Watchdog watchdog_{"a test of what is expected", 100};
  const CUstream stream_;
  std::unique_ptr<TestRuntime> runtime_;
  std::vector<Buffer> buffers_;
};

TEST_F(ExpectedTest, ComesThoughNothingIsLaunched) { ExpectNext(0); }

// By then the mover sleeps.
TEST_F(ExpectedTest, ComesAgainWithTheLaunchBehindAPrefetch) {
  ExpectNext(0);
  const Buffer& asked = buffers_[0];
  EXPECT_SPAN(vramspanMemPrefetchAsync(runtime_->get(), asked.ptr, asked.bytes(),
                                       VRAMSPAN_LOCATION_DEVICE, stream_));
  EXPECT_CU(world_.api().StreamSynchronize(stream_));
  Use(0);
  ExpectNext(1);
}

}  // namespace
}  // namespace vramspan_test
