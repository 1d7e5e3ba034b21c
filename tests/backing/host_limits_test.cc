#include "runtime/backing/host_limits.h"

#include <gmock/gmock.h>

#include "tests/backing/fake_root.h"

namespace vramspan {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kV2Mount[] =
    "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
constexpr char kV1Mount[] =
    "40 30 0:35 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "41 30 0:36 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";

class HostLimitsTest : public ::testing::Test {
 protected:
  HostLimitsTest() { root_.Memory(GiB(64), GiB(40)); }

  void V2(const std::string& path) {
    root_.Write("/proc/self/cgroup", "0::" + path + "\n");
    root_.Write("/proc/self/mountinfo", kV2Mount);
  }
  void V2Level(const std::string& path, const std::string& max, Bytes current) {
    root_.Write("/sys/fs/cgroup" + path + "/memory.max", max + "\n");
    root_.Write("/sys/fs/cgroup" + path + "/memory.current", Text(current) + "\n");
  }
  static std::string Text(Bytes bytes) { return std::to_string(bytes.value); }

  HostLimits Read() {
    const auto limits = ReadHostLimits(root_.path());
    EXPECT_TRUE(limits.ok()) << limits.status();
    return limits.value_or(HostLimits());
  }

  FakeRoot root_;
};

TEST_F(HostLimitsTest, WithoutCgroupsOnlyTheMachineCounts) {
  const HostLimits limits = Read();
  EXPECT_EQ(limits.total, GiB(64));
  EXPECT_EQ(limits.available, GiB(40));
  EXPECT_FALSE(limits.cgroup_room.has_value());
}

TEST_F(HostLimitsTest, TheTightestLevelOfV2Counts) {
  V2("/a.slice/b.scope");
  V2Level("/a.slice/b.scope", "max", GiB(1));
  V2Level("/a.slice", Text(GiB(8)), GiB(3));
  const HostLimits limits = Read();
  ASSERT_TRUE(limits.cgroup_room.has_value());
  EXPECT_EQ(*limits.cgroup_room, GiB(5));
  EXPECT_THAT(limits.cgroup_file, EndsWith("/sys/fs/cgroup/a.slice/memory.max"));
}

TEST_F(HostLimitsTest, MemoryHighCountsLikeALimit) {
  V2("/a");
  V2Level("/a", Text(GiB(8)), GiB(1));
  root_.Write("/sys/fs/cgroup/a/memory.high", Text(GiB(6)));
  EXPECT_EQ(Read().cgroup_room, GiB(5));
}

TEST_F(HostLimitsTest, IdleFilePagesAreRoom) {
  V2("/a");
  V2Level("/a", Text(GiB(8)), GiB(7));
  root_.Write("/sys/fs/cgroup/a/memory.stat",
              "anon 1\ninactive_file " + Text(GiB(4)) + "\nactive_file 7\n");
  EXPECT_EQ(Read().cgroup_room, GiB(5));
}

TEST_F(HostLimitsTest, AFullCgroupHasNoRoom) {
  V2("/a");
  V2Level("/a", Text(GiB(1)), GiB(2));
  EXPECT_EQ(Read().cgroup_room, Bytes(0));
}

TEST_F(HostLimitsTest, V1ReadsEveryLevelAndItsOwnWordForNoLimit) {
  root_.Write("/proc/self/cgroup", "9:cpu:/x\n4:hugetlb,memory:/docker/abc\n0::/other\n");
  root_.Write("/proc/self/mountinfo", kV1Mount);
  const std::string base = "/sys/fs/cgroup/memory";
  root_.Write(base + "/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  root_.Write(base + "/docker/abc/memory.usage_in_bytes", "1\n");
  root_.Write(base + "/docker/memory.limit_in_bytes", Text(GiB(10)));
  root_.Write(base + "/docker/memory.usage_in_bytes", Text(GiB(6)));
  root_.Write(base + "/docker/memory.stat", "inactive_file 5\ntotal_inactive_file " + Text(GiB(1)));
  const HostLimits limits = Read();
  EXPECT_EQ(limits.cgroup_room, GiB(5));
  EXPECT_THAT(limits.cgroup_file, EndsWith("/docker/memory.limit_in_bytes"));
}

TEST_F(HostLimitsTest, AContainersMountShowsItsOwnPartOfTheTree) {
  root_.Write("/proc/self/cgroup", "4:memory:/docker/abc\n");
  root_.Write("/proc/self/mountinfo",
              "41 30 0:36 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  root_.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", Text(GiB(3)));
  root_.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", Text(GiB(1)));
  EXPECT_EQ(Read().cgroup_room, GiB(2));
}

TEST_F(HostLimitsTest, APathOutsideOfTheMountFallsBackToTheMount) {
  V2("/../../elsewhere");
  V2Level("", Text(GiB(3)), GiB(1));
  EXPECT_EQ(Read().cgroup_room, GiB(2));
}

TEST_F(HostLimitsTest, AMountPointWithASpaceIsFound) {
  root_.Write("/proc/self/cgroup", "0::/\n");
  root_.Write("/proc/self/mountinfo", "1 2 0:3 / /my\\040groups rw - cgroup2 none rw\n");
  root_.Write("/my groups/memory.max", Text(GiB(3)));
  root_.Write("/my groups/memory.current", Text(GiB(2)));
  EXPECT_EQ(Read().cgroup_room, GiB(1));
}

TEST_F(HostLimitsTest, AnUnreadableNumberIsAnErrorThatNamesTheFile) {
  V2("/a");
  V2Level("/a", "lots", GiB(1));
  const auto limits = ReadHostLimits(root_.path());
  ASSERT_FALSE(limits.ok());
  EXPECT_THAT(std::string(limits.status().message()), HasSubstr("/a/memory.max"));
  EXPECT_THAT(std::string(limits.status().message()), HasSubstr("'lots'"));
}

TEST_F(HostLimitsTest, AMissingMemAvailableIsAnError) {
  root_.Write("/proc/meminfo", "MemTotal: 5 kB\n");
  const auto limits = ReadHostLimits(root_.path());
  ASSERT_FALSE(limits.ok());
  EXPECT_THAT(std::string(limits.status().message()), HasSubstr("MemAvailable"));
  EXPECT_FALSE(ReadHostLimits(root_.path() + "/nowhere").ok());
}

TEST(HostLimits, ThisMachineCanBeRead) {
  const auto limits = ReadHostLimits();
  ASSERT_TRUE(limits.ok()) << limits.status();
  EXPECT_GT(limits->available, MiB(1));
  EXPECT_GE(limits->total, limits->available);
}

TEST(DefaultHostBudget, LeavesAnEighthWithinBounds) {
  EXPECT_EQ(DefaultHostBudget({GiB(40), GiB(64), {}, ""}), GiB(35));
  EXPECT_EQ(DefaultHostBudget({GiB(400), GiB(640), {}, ""}), GiB(392));
  EXPECT_EQ(DefaultHostBudget({GiB(40), GiB(64), GiB(2), "f"}), GiB(2) - MiB(512));
  EXPECT_EQ(DefaultHostBudget({MiB(300), GiB(64), {}, ""}), Bytes(0));
  EXPECT_EQ(DefaultHostBudget({GiB(4) + KiB(4), GiB(64), {}, ""}).value % kGranularity.value, 0u);
}

}  // namespace
}  // namespace vramspan
