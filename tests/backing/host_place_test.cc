#include "runtime/backing/host_place.h"

#include "tests/backing/fake_root.h"
#include "tests/backing/pool_fixture.h"

namespace vramspan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ParseNodes, TakesWhatTheKernelWrites) {
  EXPECT_THAT(ParseNodes("0\n"), ElementsAre(0));
  EXPECT_THAT(ParseNodes("0-1,4,8-9\n"), ElementsAre(0, 1, 4, 8, 9));
  EXPECT_THAT(ParseNodes("\n"), IsEmpty());
}

TEST(ParseNodes, EndsAtWhatItCannotRead) {
  EXPECT_THAT(ParseNodes("0,x,2"), ElementsAre(0));
  EXPECT_THAT(ParseNodes("3-1"), IsEmpty());
  EXPECT_THAT(ParseNodes("-1"), IsEmpty());
  EXPECT_THAT(ParseNodes("0-2000000000"), SizeIs(64));
}

// A machine with two nodes with memory and processors, and one with memory alone. The simulated
// driver gives memory of node 0.
class HostPlaceTest : public PoolTest {
 protected:
  HostPlaceTest() {
    root_.Memory(GiB(64), GiB(32));
    root_.Write("/sys/devices/system/node/has_cpu", "0-1\n");
    root_.Write("/sys/devices/system/node/has_memory", "0-2\n");
    device_ = ReadCapabilities(*driver_, 0).value();
  }

  Status Find() { return FindHostPlace(*driver_, context_, &device_, root_.path()); }
  void Fail(const char* call, long long count, CUresult result) {
    ASSERT_EQ(fail_(call, 1, count, result), 0);
  }

  FakeRoot root_;
  Capabilities device_;
};

// As an H100's memory has them.
TEST_F(HostPlaceTest, ClockAndWidthOfItsMemorySayHowFastItIs) {
  EXPECT_NEAR(device_.memory_gb_per_s, 3352, 1);
}

TEST_F(HostPlaceTest, TheNodeNextToTheDeviceIsFirst) {
  EXPECT_TRUE(Find().ok());
  EXPECT_EQ(PlaceText(device_.host), "NUMA node 0");
  EXPECT_EQ(device_.host_granularity, MiB(2));
  EXPECT_EQ(device_.host_refused, "");
  EXPECT_EQ(call_count_("cuMemCreate"), 1);
}

TEST_F(HostPlaceTest, AnotherNodeIsTakenWhereTheNearestGivesNone) {
  device_.host_numa_id = 1;
  EXPECT_TRUE(Find().ok());
  EXPECT_EQ(PlaceText(device_.host), "NUMA node 0");
  EXPECT_THAT(device_.host_refused,
              AllOf(HasSubstr("NUMA node 1: "), HasSubstr("CUDA_ERROR_INVALID_VALUE")));
}

TEST_F(HostPlaceTest, AnyStepMayRefuseAPlace) {
  for (const char* call :
       {"cuMemGetAllocationGranularity", "cuMemCreate", "cuMemMap", "cuMemSetAccess"}) {
    reset_();
    Fail(call, 1, CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_TRUE(Find().ok()) << call;
    EXPECT_EQ(PlaceText(device_.host), "any NUMA node") << call;
    EXPECT_THAT(device_.host_refused,
                AllOf(HasSubstr(std::string("NUMA node 0: ") + call), HasSubstr("; NUMA node 1: ")))
        << "and node 2 has no processors";
  }
}

TEST_F(HostPlaceTest, WhereThereIsNoneEachPlaceIsNamed) {
  Fail("cuMemSetAccess", -1, CUDA_ERROR_INVALID_DEVICE);
  const Status status = Find();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cannot map host memory with driver 13.0 (NUMA node 0: cuMemSetAcc"),
                    HasSubstr("NUMA node 1: "), HasSubstr("any NUMA node: "),
                    HasSubstr("CUDA_ERROR_INVALID_DEVICE")));
}

TEST_F(HostPlaceTest, MemoryThatIsFullNowIsNoReasonToRefuse) {
  Fail("cuMemCreate", -1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_TRUE(Find().ok());
  EXPECT_EQ(PlaceText(device_.host), "NUMA node 0");
}

TEST_F(HostPlaceTest, TheLastOfTheHostsMemoryIsNotTaken) {
  root_.Memory(GiB(64), MiB(100));
  EXPECT_TRUE(Find().ok());
  EXPECT_EQ(PlaceText(device_.host), "NUMA node 0");
  EXPECT_EQ(call_count_("cuMemCreate"), 0);
}

TEST_F(HostPlaceTest, AMachineWithoutNodesHasOne) {
  const FakeRoot bare;
  bare.Memory(GiB(64), GiB(32));
  Fail("cuMemCreate", 1, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_TRUE(FindHostPlace(*driver_, context_, &device_, bare.path()).ok());
  EXPECT_EQ(PlaceText(device_.host), "any NUMA node");
}

}  // namespace
}  // namespace vramspan
