// The demo's program computes the same whatever moves, declared or traced, and its digest sees a
// single bit.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/vramspan/demo_program.h"

namespace vramspan::demo {
namespace {

// The parameter is what overlaps beside traced launches; "declared": nothing is traced.
class DemoProgram : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    StatusOr<std::shared_ptr<const Driver>> driver = Driver::Load();
    ASSERT_TRUE(driver.ok()) << driver.status();
    StatusOr<std::unique_ptr<Device>> device = Device::Open(*driver, 0);
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
    shape_ = Shape::For(Bytes(Shape::kMinData));
    shape_.rounds = 2;
  }

  bool declares() const { return std::string(GetParam()) == "declared"; }

  Runtime NewRuntime(const char* device_memory) const {
    return Runtime({.device_memory = device_memory,
                    .tracer = declares() ? "off" : "cupti",
                    .overlap = declares() ? "" : GetParam(),
                    .deadline = std::chrono::seconds(20),
                    .quiet = true});
  }

  // `damage`: a buffer of which one bit is flipped between filling and running.
  Digest Result(const char* device_memory, std::optional<size_t> damage = std::nullopt) {
    const Runtime runtime = NewRuntime(device_memory);
    Program program(*device_, runtime, shape_, declares());
    program.Fill();
    if (damage.has_value()) Flip(program.memory().at(*damage));
    int rounds = 0;
    program.Run([&](int n) { EXPECT_EQ(n, ++rounds); });
    EXPECT_EQ(rounds, shape_.rounds);
    Digest digest = program.Finish();
    runtime.synchronize();
    statistics_ = runtime.statistics();
    return digest;
  }

  void Flip(const Region& region) {
    const DriverApi& cu = device_->api();
    const CUstream stream = device_->stream(0);
    const CUdeviceptr last = region.ptr + region.bytes - 1;
    unsigned char byte = 0;
    ASSERT_EQ(cu.MemcpyDtoHAsync(&byte, last, 1, stream), CUDA_SUCCESS);
    ASSERT_EQ(cu.StreamSynchronize(stream), CUDA_SUCCESS);
    byte ^= 1;
    ASSERT_EQ(cu.MemcpyHtoDAsync(last, &byte, 1, stream), CUDA_SUCCESS);
    ASSERT_EQ(cu.StreamSynchronize(stream), CUDA_SUCCESS);
  }

  std::unique_ptr<Device> device_;
  Shape shape_;
  Statistics statistics_ = {};  // Of the last result's runtime.
};
INSTANTIATE_TEST_SUITE_P(All, DemoProgram, testing::Values("declared", "off", "safe", "all"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(DemoProgram, ComputesTheSameUnderEveryBudget) {
  const Digest unlimited = Result("256MiB");
  EXPECT_EQ(Result("256MiB"), unlimited);
  EXPECT_EQ(Result("16MiB"), unlimited);
  EXPECT_EQ(Result("8MiB"), unlimited);
}

// What is compared did move, and for the reason that the table gives.
TEST_P(DemoProgram, MovesDeclaredOrTraced) {
  Result("16MiB");
  EXPECT_GT(statistics_.bytes_in, 0u);
  EXPECT_GT(statistics_.bytes_out, 0u);
  const size_t launches = static_cast<size_t>(shape_.rounds) * (shape_.blocks + 1);
  if (declares()) {
    EXPECT_EQ(statistics_.launches, 0u);
    EXPECT_GE(statistics_.works, launches);
  } else {
    EXPECT_GE(statistics_.launches, launches);
    EXPECT_GE(statistics_.copies, 2u * static_cast<size_t>(shape_.rounds));
    EXPECT_EQ(statistics_.launches_unknown, 0u);
  }
}

TEST_P(DemoProgram, TheDigestCoversEveryBuffer) {
  const Runtime runtime = NewRuntime("256MiB");
  Program program(*device_, runtime, shape_, declares());
  program.Fill();
  const Digest right = program.Finish();
  const std::vector<Region> memory = program.memory();
  ASSERT_EQ(memory.size(), shape_.blocks + 2);
  for (size_t i = 0; i < memory.size(); ++i) {
    Flip(memory[i]);
    EXPECT_NE(program.Finish(), right) << i;
    Flip(memory[i]);
  }
  EXPECT_EQ(program.Finish(), right);
}

// So that what a move loses in one round shows in what later rounds compute, too.
TEST_P(DemoProgram, OneFlippedBitSpreads) {
  const Digest right = Result("256MiB");
  const size_t weights = 0;
  const size_t activation = shape_.blocks;
  const Digest wrong = Result("256MiB", weights);
  EXPECT_NE(wrong[2 * activation], right[2 * activation]);
  const size_t met_first = shape_.blocks / 2;  // The state that takes in the first activation.
  EXPECT_NE(wrong[2 * met_first], right[2 * met_first]);
}

}  // namespace
}  // namespace vramspan::demo
