// The demo's program computes the same whatever moves, and its digest sees a single bit.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tools/vramspan/demo_program.h"

namespace vramspan::demo {
namespace {

class DemoProgram : public testing::Test {
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

  // `damage`: a buffer of which one bit is flipped between filling and running.
  Digest Result(const char* device_memory, std::optional<size_t> damage = std::nullopt) {
    const Runtime runtime(
        {.device_memory = device_memory, .deadline = std::chrono::seconds(20), .quiet = true});
    Program program(*device_, runtime, shape_);
    program.Fill();
    if (damage.has_value()) Flip(program.memory().at(*damage));
    int rounds = 0;
    program.Run([&](int n) { EXPECT_EQ(n, ++rounds); });
    EXPECT_EQ(rounds, shape_.rounds);
    return program.Finish();
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
};

TEST_F(DemoProgram, ComputesTheSameUnderEveryBudget) {
  const Digest unlimited = Result("256MiB");
  EXPECT_EQ(Result("256MiB"), unlimited);
  EXPECT_EQ(Result("16MiB"), unlimited);
  EXPECT_EQ(Result("8MiB"), unlimited);
}

TEST_F(DemoProgram, TheDigestCoversEveryBuffer) {
  const Runtime runtime({.device_memory = "256MiB", .quiet = true});
  Program program(*device_, runtime, shape_);
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
TEST_F(DemoProgram, OneFlippedBitSpreads) {
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
