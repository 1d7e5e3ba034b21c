// Launches that each use a part of an allocation, the next part being the next launch's: what is
// hidden there is fetched for that one, and gets no mapping on the host before.
#include <memory>
#include <vector>

#include "tests/mover/world.h"

namespace vramspan_test {
namespace {

constexpr size_t kHalf = 8 * kMiB;

class TracedHalves : public MoverTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(TracedHalves, AreFetchedAndNotMappedFirst) {
  RuntimeOptions options;
  options.chunk = "8MiB";
  options.device_memory = "96MiB";
  options.deadline_us = 5'000'000;
  options.tracer = "cupti";
  options.overlap = GetParam();
  TestRuntime runtime(world_, options);
  CUstream stream = world_.NewStream();
  std::vector<Buffer> halves;
  for (size_t i = 0; i < 10; ++i) {
    Buffer half = runtime.Alloc(2 * kHalf);
    half.words /= 2;
    for (int h = 0; h < 2; ++h, half.ptr += kHalf) {
      half.seed = halves.size() + 1;
      halves.push_back(half);
      EXPECT_CU(world_.LaunchFill(half, stream));
    }
  }
  const auto laps = [&](int count) {
    for (int lap = 0; lap < count; ++lap) {
      for (Buffer half : halves) {
        half.words = 1 << 14;  // The simulated driver takes no longer for it than a GPU.
        EXPECT_CU(world_.LaunchAdd(half, 0, stream));
      }
    }
    EXPECT_CU(world_.api().StreamSynchronize(stream));
  };
  laps(4);
  const vramspanStatistics before = runtime.stats();
  laps(8);
  const vramspanStatistics after = runtime.stats();
  for (const Buffer& half : halves) EXPECT_EQ(world_.Wrong(half), "");
  const uint64_t fetches = after.fetches - before.fetches;
  const uint64_t evictions = after.evictions - before.evictions;
  EXPECT_GE(fetches, 60u);
  // All others map what was hidden.
  EXPECT_LE(after.remaps - before.remaps, fetches + evictions + fetches / 4);
  // No thrash: what comes is used before it leaves.
  EXPECT_LE(after.fetches_unused - before.fetches_unused, fetches / 50);
  EXPECT_SPAN(runtime.Destroy());
  EXPECT_CU(world_.api().StreamDestroy(stream));
}

INSTANTIATE_TEST_SUITE_P(Overlaps, TracedHalves, ::testing::Values("safe", "all"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace vramspan_test
