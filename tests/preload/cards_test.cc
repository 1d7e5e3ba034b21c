// Programs whose memory is short, on the cards and drivers that people have: their results are
// right, whatever the driver says of itself.
#include <gmock/gmock.h>

#include "tests/preload/run_program.h"

namespace vramspan_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Cards : public ::testing::TestWithParam<const char*> {};

TEST_P(Cards, TwiceTheMemoryIsRightThere) {
  const Output output =
      RunPreloaded("dlsym", "doubled", std::string("VRAMSPAN_STATS=- ") + GetParam());
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.out, "ok\n");
  EXPECT_THAT(output.err, AllOf(HasSubstr("device memory is short"),
                                HasSubstr("72 launches (0 named no memory of vramspan)")));
}

INSTANTIATE_TEST_SUITE_P(
    , Cards,
    ::testing::Values("SIMCUDA_DRIVER_VERSION=12050",  // Knows no attribute for host memory,
                      "SIMCUDA_DRIVER_VERSION=12080",  // but has it.
                      "SIMCUDA_HOST_VMM_TOLD=0",       //
                      "SIMCUDA_NEAR_NODE=1",           // A node without memory for the driver.
                      "SIMCUDA_HOST_NODES=none",       //
                      "SIMCUDA_STREAM_OPS=32",         //
                      "SIMCUDA_LINK=6 SIMCUDA_COPY_ENGINES=1",
                      "SIMCUDA_LINK=3 SIMCUDA_COPY_ENGINES=1",  // A laptop, PCIe 3 x4.
                      "SIMCUDA_LINK=13,12 SIMCUDA_COPY_ENGINES=2"));

TEST(CardsTest, WhereHostMemoryComesFromIsSaidIfAsked) {
  const Output output = RunPreloaded("dlsym", "doubled", "SIMCUDA_NEAR_NODE=5 VRAMSPAN_LOG=info");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr(", because of NUMA node 5: cuMem"));
}

TEST(CardsTest, OnAVgpuTheRefusalSaysSo) {
  const Output output =
      RunPreloaded("dlsym", "within", "SIMCUDA_HOST_VMM=0 SIMCUDA_DEVICE_NAME='GRID A100-10C'");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, AllOf(HasSubstr("runs as without vramspan on device 0"),
                                HasSubstr("GRID A100-10C"), HasSubstr("a vGPU")));
}

}  // namespace
}  // namespace vramspan_test
