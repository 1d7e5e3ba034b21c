#include "runtime/backing/host_room.h"

#include <gmock/gmock.h>

#include "tests/backing/fake_root.h"

namespace vramspan {
namespace {

using ::testing::HasSubstr;

TEST(HostRoom, StopsAtTheFloorAndNamesTheLimit) {
  FakeRoot root;
  root.Memory(GiB(64), MiB(512 + 100));
  HostRoom room(root.path());
  EXPECT_TRUE(room.Take(MiB(64)).ok());
  EXPECT_TRUE(room.Take(MiB(32)).ok());
  // 4 MiB of the reading are left. The next reading would show the 96 MiB as used.
  root.Memory(GiB(64), MiB(512 + 4));
  const Status full = room.Take(MiB(8));
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("MemAvailable leaves 516 MiB"));
  EXPECT_TRUE(room.Take(MiB(4)).ok());
}

TEST(HostRoom, NoticesWithin256MiBThatTheMachineFillsUp) {
  FakeRoot root;
  root.Memory(GiB(64), GiB(32));
  HostRoom room(root.path());
  EXPECT_TRUE(room.Take(MiB(64)).ok());
  root.Memory(GiB(64), MiB(512));
  int taken = 1;
  while (room.Take(MiB(64)).ok()) ASSERT_LT(++taken, 100);
  EXPECT_EQ(taken, 4);
}

TEST(HostRoom, NoticesAtOnceThatThereIsRoomAgain) {
  FakeRoot root;
  root.Memory(GiB(64), MiB(500));
  HostRoom room(root.path());
  EXPECT_FALSE(room.Take(MiB(2)).ok());
  root.Memory(GiB(64), GiB(1));
  EXPECT_TRUE(room.Take(MiB(2)).ok());
}

TEST(HostRoom, ACgroupBindsAsTheMachineDoes) {
  FakeRoot root;
  root.Memory(GiB(64), GiB(32));
  root.Write("/proc/self/cgroup", "0::/\n");
  root.Write("/proc/self/mountinfo", "1 2 0:3 / /cg rw - cgroup2 none rw\n");
  root.Write("/cg/memory.max", std::to_string(GiB(2).value));
  root.Write("/cg/memory.current", std::to_string(GiB(2).value - MiB(512).value));
  HostRoom room(root.path());
  const Status full = room.Take(MiB(2));
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("/cg/memory.max leaves 512 MiB"));
}

TEST(HostRoom, AMachineThatCannotBeReadIsAnError) {
  HostRoom room("/nowhere");
  EXPECT_FALSE(room.Take(MiB(2)).ok());
}

}  // namespace
}  // namespace vramspan
