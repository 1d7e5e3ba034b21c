// More work than a chunk can count, submitted while the mover's thread is inside the driver: none
// of it is seen to finish meanwhile, and nothing comes of that.
#include <string>
#include <thread>

#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

constexpr int kMany = 70'000;  // 65,535 is the most that a chunk counts.

class CountsTest : public MoverTest {
 protected:
  CountsTest() : stream_(world_.NewStream()) {}
  ~CountsTest() override { EXPECT_CU(world_.api().StreamDestroy(stream_)); }

  const Watchdog watchdog_{"a test of counts", 200};
  const CUstream stream_;
};

TEST_F(CountsTest, OfWorkInFlightDoNotOverflow) {
  TestRuntime runtime(world_);
  std::vector<Buffer> buffers = runtime.Filled(4, kChunk, stream_);
  Buffer& b = buffers[0];
  b.words = 8;
  runtime.Add(b, 1, stream_);
  world_.set_delay("cuMemUnmap", 3'000'000);
  // Nothing is queued, and others leave.
  EXPECT_SPAN(vramspanSetDeviceBudget(runtime.get(), 3 * kChunk));
  for (int i = 0; i < kMany; ++i) runtime.Add(b, 1, stream_);
  world_.set_delay("cuMemUnmap", 0);
  runtime.Synchronize();
  for (const Buffer& each : buffers) EXPECT_EQ(world_.Wrong(each), "");
  EXPECT_SPAN(runtime.Destroy());
}

// A thread that died in its scope never ends it: to end the runtime is refused, and does not hang.
TEST_F(CountsTest, OfOpenScopesAreWaitedForAWhile) {
  RuntimeOptions options;
  const vramspanConfig config = Config(options);
  static vramspanRuntime runtime = nullptr;  // Nothing ends it.
  ASSERT_SPAN(vramspanCreate(&runtime, &config));
  EXPECT_SPAN(vramspanWorkBegin(runtime, stream_, nullptr, 0));
  EXPECT_NE(vramspanDestroy(runtime), CUDA_SUCCESS);
  EXPECT_NE(LastError().find("a work scope is open"), std::string::npos) << LastError();
  EXPECT_SPAN(vramspanWorkEnd(runtime, stream_));
  EXPECT_SPAN(vramspanDestroy(runtime));
  ASSERT_SPAN(vramspanCreate(&runtime, &config));
  std::thread([&] {
    EXPECT_CU(world_.api().CtxSetCurrent(world_.context()));
    EXPECT_SPAN(vramspanWorkBegin(runtime, stream_, nullptr, 0));
  }).join();
  EXPECT_NE(vramspanDestroy(runtime), CUDA_SUCCESS);
}

}  // namespace
}  // namespace vramspan_test
