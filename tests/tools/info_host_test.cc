#include "tools/vramspan/info_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backing/fake_root.h"

namespace vramspan::info {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class InfoHostTest : public ::testing::Test {
 protected:
  InfoHostTest() { root_.Memory(GiB(16), GiB(8)); }

  FakeRoot root_;
};

TEST_F(InfoHostTest, SaysWhatTheMachineIs) {
  root_.Write("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID=ubuntu\n");
  root_.Write("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Oct 14\nGCC 12.2\n");
  root_.Write("/.dockerenv", "");
  const HostReport host = ReadHost(root_.path());
  EXPECT_THAT(SystemText(host),
              AllOf(HasSubstr("Ubuntu 24.04.1 LTS"), HasSubstr("NVIDIA's module 580.159.04"),
                    HasSubstr("in a container (docker)"), HasSubstr("glibc 2.")));
  root_.Write("/proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.64.03  Release\n");
  EXPECT_EQ(ReadHost(root_.path()).module, "575.64.03");
}

TEST_F(InfoHostTest, OfAMachineThatTellsNothingTheRestIsSaid) {
  const HostReport host = ReadHost(root_.path());
  EXPECT_THAT(SystemText(host), Not(HasSubstr("container")));
  EXPECT_EQ(HostMemoryText(host),
            "8.0 GiB of 16.0 GiB available; no cgroup limits it; may be pinned now: 7.5 GiB");
  const FakeRoot nothing;
  EXPECT_THAT(HostMemoryText(ReadHost(nothing.path())), HasSubstr("unknown"));
}

TEST_F(InfoHostTest, AContainersLimitIsNamed) {
  root_.Write("/proc/self/cgroup", "0::/\n");
  root_.Write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  root_.Write("/sys/fs/cgroup/memory.max", std::to_string(GiB(4).value) + "\n");
  root_.Write("/sys/fs/cgroup/memory.current", std::to_string(GiB(3).value) + "\n");
  const std::string text = HostMemoryText(ReadHost(root_.path()));
  EXPECT_THAT(text, AllOf(HasSubstr("/sys/fs/cgroup/memory.max leaves 1.0 GiB"),
                          HasSubstr("may be pinned now: 512 MiB")));
}

TEST_F(InfoHostTest, WhetherMemlockBinds) {
  HostReport host;
  EXPECT_THAT(LockedText(host, MiB(2)), HasSubstr("memlock is unlimited"));
  host.memlock = KiB(64);
  EXPECT_THAT(LockedText(host, MiB(2)),
              HasSubstr("memlock (64 KiB) does not bind: 2 MiB were pinned at once"));
  host.memlock = MiB(8);
  EXPECT_THAT(LockedText(host, MiB(2)), HasSubstr("memlock (8 MiB) was not reached here"));
}

TEST_F(InfoHostTest, TheLinkIsAsTheKernelShowsIt) {
  const std::string folder = "/sys/bus/pci/devices/0000:0a:00.0/";
  root_.Write(folder + "current_link_width", "8\n");
  root_.Write(folder + "max_link_width", "16\n");
  root_.Write(folder + "max_link_speed", "16.0 GT/s PCIe\n");
  EXPECT_EQ(PciLinkText("0000:0A:00.0", root_.path()), "PCIe x8 of x16, up to 16.0 GT/s");
  root_.Write(folder + "max_link_width", "8\n");
  EXPECT_EQ(PciLinkText("0000:0a:00.0", root_.path()), "PCIe x8, up to 16.0 GT/s");
  EXPECT_EQ(PciLinkText("0000:0b:00.0", root_.path()), "");
  EXPECT_EQ(PciLinkText("../../../etc", root_.path()), "");
  EXPECT_EQ(PciLinkText("", root_.path()), "");
}

TEST_F(InfoHostTest, WhoBringsTheDriver) {
  EXPECT_EQ(WhereDriversComeFrom(root_.path()), "");
  root_.Write("/run/.containerenv", "");
  EXPECT_THAT(WhereDriversComeFrom(root_.path()), HasSubstr("--gpus all"));
  root_.Write("/proc/sys/kernel/osrelease", "5.15.153.1-microsoft-standard-WSL2\n");
  EXPECT_THAT(WhereDriversComeFrom(root_.path()), HasSubstr("Windows' NVIDIA driver"));
}

}  // namespace
}  // namespace vramspan::info
